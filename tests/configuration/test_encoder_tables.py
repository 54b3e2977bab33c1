"""Experiments in sub-folders, one per paper on encoders: at scale `paper` their arms are the rows of the table."""

import pytest
import torch

from search_space.overrides import difference
from search_space.released.models import PRESETS, parameters_as_published, preset_of
from search_space.released.papers import PublishedTable, published
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.warnings import warnings_of
from steeplechase.configuration.yaml import scales
from steeplechase.models.build_encoder import build_encoder
from tests.factories.experiment_files import experiment_of
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS

FILES = [name for name in EXPERIMENT_FILES if "/" in name]
PROBES = [name for name in FILES if name.startswith("probes/")]
OWN = [name for name in FILES if name.startswith(("evolved/tabulated/", "modern/"))]
"""Questions of our own, which no paper has a table of."""
OF_OTHERS = ("electra/table5.yaml", "mass/table7.yaml", "roberta/table3.yaml")
"""Tables whose rows are objectives or recipes of their own."""
OF_MODELS = [
    name
    for name in FILES
    if name not in OF_OTHERS
    and (
        name.endswith(("table3.yaml", "table4.yaml", "table5.yaml", "table6.yaml", "table7.yaml", "ladder.yaml"))
        or name in ("bert/table8.yaml", "roberta/table1.yaml", "bart/table1.yaml")
    )
]
"""Tables whose rows are released models or variants."""
SCHEMA = "# yaml-language-server: $schema="


def table_of(experiment: Experiment) -> PublishedTable:
    assert experiment.paper is not None
    assert experiment.paper.table is not None
    return published().tables[experiment.paper.table]


@pytest.mark.parametrize("name", EXPERIMENT_FILES)
def test_an_experiment_names_the_schema_judges_its_claims_at_every_scale_and_is_not_warned_of(name: str) -> None:
    """A scale's list of claims replaces the file's, so that it has to begin with it."""
    file = EXPERIMENTS / name
    (first, *_) = file.read_text(encoding="utf-8").splitlines()
    assert first.startswith(SCHEMA)
    assert (file.parent / first.removeprefix(SCHEMA)).resolve() == (EXPERIMENTS / "schema.json").resolve()
    claims = set(experiment_of(name, None).claims)
    for scale in scales(file):
        experiment = experiment_of(name, scale)
        assert claims <= set(experiment.claims), scale
        assert warnings_of(experiment, machine_memory=2**60) == (), scale


@pytest.mark.parametrize("name", FILES)
def test_every_table_has_its_three_scales_and_others_the_small_ones(name: str) -> None:
    assert set(scales(EXPERIMENTS / name)) >= {"laptop", "smoke", *(["paper"] if name not in PROBES + OWN else [])}


@pytest.mark.parametrize("name", OF_MODELS)
def test_at_paper_scale_an_arm_is_the_row_of_the_table(name: str) -> None:
    experiment = experiment_of(name, "paper")
    assert experiment.paper is not None
    for arm in experiment.arms:
        if arm.name not in experiment.paper.rows:
            continue
        row = table_of(experiment).rows[experiment.paper.rows[arm.name]]
        preset = preset_of(row)
        if preset is None:  # a model of the paper's own comparison, whose sizes it does not give
            assert row.note, arm.name
            continue
        changed = set(difference(preset.candidate, arm.candidate))
        allowed = {"recipe.device", "recipe.precision", "fine_tuning.pooling"}
        if row.model is not None and PRESETS[row.model].updates is None:  # no recipe of its own was found
            allowed |= {path for path in changed if path.startswith("recipe.")}
        assert changed <= allowed, arm.name
        if row.printed_parameters is not None:
            printed = float(row.printed_parameters.removesuffix("M")) * 1e6
            assert parameters_as_published(preset, row) == pytest.approx(printed, abs=1e6)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("bert/", "roberta/"))])
def test_every_published_metric_of_a_task_is_measured_at_paper_scale(name: str) -> None:
    experiment = experiment_of(name, "paper")
    for column in table_of(experiment).columns:
        task, _, metric = column.partition(":")
        if metric:
            assert task in experiment.fine_tuning.tasks
            assert metric in experiment.fine_tuning.find(task).metrics


@pytest.mark.parametrize("name", FILES)
@torch.no_grad()
def test_every_arm_at_smoke_scale_can_be_built_and_reads_a_sequence(name: str) -> None:
    for arm in experiment_of(name, "smoke").arms:
        architecture, length = arm.candidate.architecture, arm.candidate.recipe.sequence_length
        encoder = build_encoder(architecture, 0.0).eval()
        assert encoder(torch.zeros(1, length, dtype=torch.long)).shape == (1, length, architecture.width)
        assert sum(value.numel() for value in encoder.parameters()) == architecture.parameters
