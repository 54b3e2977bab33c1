"""The paper's tables as experiments: scale `paper` is what was released, and tables share their rows."""

from pathlib import Path

import pytest

from runners.dag import shared_stages, trial_stages
from search_space.cost import CONVENTIONS
from search_space.released.differences import departures
from search_space.released.models import PRESETS, Preset, costs_of, preset_of
from search_space.released.papers import PublishedRow, published
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import combinations_of, settings_of
from steeplechase.configuration.metrics import DESCRIPTIONS, SCORE
from steeplechase.configuration.released_fine_tuning import BASE, SMALL, fine_tuning_differences
from steeplechase.configuration.yaml import scales
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.data_folder import HINT
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task, task_names
from tests.factories.experiment_files import experiment_of
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS

TABLES = (
    "table1", "table1_base", "table2", "table3", "table3_bert", "table4", "table7", "kernel_size",
    "kernel_size_short", "heads", "table8", "table2_variants",
)  # fmt: skip
SHARING = ("table1", "table2", "table3", "table4", "table7", "kernel_size", "heads")
ABLATED = {"heads", "bottleneck ratio", "convolution", "feed forward groups"}
SETTINGS = {("table7", "paper_mlm"): {"objective"}, ("kernel_size_short", "paper"): {"sequence length"}}
"""What a setting changes in every arm of a table, by its own word."""
ELECTRA = CONVENTIONS["electra"]


def at(name: str, scale: str) -> Experiment:
    return experiment_of(f"{name}.yaml", scale)


def where_files_are(experiment: Experiment, folder: Path) -> Experiment:
    """Return the experiment with published files to read, empty ones: a key is of bytes, whatever they say.

    It fine-tunes at one seed, since keys of other seeds would show the same.
    """
    one = experiment.fine_tuning.model_copy(update={"seeds": experiment.fine_tuning.seeds[:1]})
    experiment = experiment.model_copy(update={"fine_tuning": one})
    if one.data is None:
        return experiment
    for task in map(find_task, experiment.fine_tuning.tasks):
        for part in task.files.needed if task.files else ():
            assert task.files is not None
            file = folder / task.files.folder / task.files.parts[part].replace("*", "")
            file.parent.mkdir(exist_ok=True, parents=True)
            file.touch()
    data = FolderOfTasks(path=str(folder))
    return experiment.model_copy(update={"fine_tuning": experiment.fine_tuning.model_copy(update={"data": data})})


def paper_scales() -> list[tuple[str, str]]:
    return [(name, scale) for name in TABLES for scale in scales(EXPERIMENTS / f"{name}.yaml") if "paper" in scale]


def row_of(experiment: Experiment, arm: Arm) -> PublishedRow | None:
    paper = experiment.paper
    if paper is None or paper.table is None or arm.name not in paper.rows:
        return None
    return published().tables[paper.table].rows[paper.rows[arm.name]]


def gap(experiment: Experiment, arm: Arm, preset: Preset) -> set[str]:
    """Return the departures from a released model, but for the tensor cores that every arm on a GPU has."""
    found = {each.name for each in departures(arm.candidate, experiment.pretraining.tokens, preset)}
    assert ("precision" in found) == (arm.candidate.recipe.device == "cuda")
    return found - {"precision"}


@pytest.mark.parametrize(("name", "scale"), paper_scales())
def test_at_paper_scale_every_arm_is_trained_as_released(name: str, scale: str) -> None:
    experiment = at(name, scale)
    setting = SETTINGS.get((name, scale), set())
    for arm in experiment.arms:
        row = row_of(experiment, arm)
        released = None if row is None else preset_of(row)
        if released is not None:
            assert gap(experiment, arm, released) <= setting, arm.name
        else:  # an arm of ours: a released model in all but what is ablated
            own = {"updates"} if arm.name.endswith("_4m") else set()
            own |= {"long sequence share"} if name == "table4" else set()  # a test of its own says of whom
            gaps = [gap(experiment, arm, preset) for preset in PRESETS.values()]
            assert any(found <= ABLATED | setting | own for found in gaps), (arm.name, min(gaps, key=len))


@pytest.mark.parametrize(("name", "scale"), paper_scales())
def test_at_paper_scale_every_published_row_costs_what_is_published(name: str, scale: str) -> None:
    experiment, compared = at(name, scale), 0
    known = any(row is not None and row.model for row in (row_of(experiment, arm) for arm in experiment.arms))
    for arm in experiment.arms:
        row, candidate = row_of(experiment, arm), arm.candidate
        if row is None or (name, scale) in SETTINGS:
            continue
        parameters, flops = costs_of(row)
        found = candidate.train_flops(experiment.pretraining.tokens, experiment.baseline.architecture, ELECTRA)
        assert parameters is None or candidate.architecture.parameters == parameters
        assert flops is None or found == pytest.approx(flops, rel=0.01), arm.name
        compared += flops is not None
    assert compared or not known or (name, scale) in SETTINGS


def keys(experiment: Experiment) -> dict[str, dict[str, str]]:
    """Return the stages' keys of every arm at the first seed, by what the arm is."""
    shared = shared_stages(experiment)
    found = {}
    for arm in experiment.arms:
        stages = trial_stages(experiment, shared, arm.candidate, 1)
        found[arm.identity] = {label: stage.key for label, stage in stages.items()}
    return found


@pytest.mark.parametrize(("name", "scale"), paper_scales())
def test_at_paper_scale_every_task_is_fine_tuned_as_released(name: str, scale: str) -> None:
    tuning, known = at(name, scale).fine_tuning, published().fine_tuning
    for task in tuning.tasks:
        assert find_task(task).files is not None
        for size in (SMALL, BASE):  # the rates of both are among those that are searched
            assert fine_tuning_differences(tuning, task, size) == ()
            rates = {each["peak_learning_rate"] for each in combinations_of(tuning, task)}
            assert known[size]["peak_learning_rate"] in rates
        settings = settings_of(tuning, task)
        longest = known["squad" if task.startswith("squad") else "defaults"]["sequence_length"]
        assert (settings.sequence_length, settings.layer_rate_decay) == (
            longest,
            known["defaults"]["layer_rate_decay"],
        )
        assert settings.swap_pairs == (task in ("mrpc", "stsb")) or not find_task(task).unordered


def test_at_paper_scale_every_table_with_fine_tuning_has_its_eight_tasks() -> None:
    columns = [name for name in published().tables["table3"].columns if ":" in name]
    for name, scale in paper_scales():
        if name not in ("table4", "table8", "kernel_size_short"):
            assert {name.partition(":")[0] for name in columns} == {*at(name, scale).fine_tuning.tasks}


def test_at_paper_scale_convbert_is_lengthened_before_squad_and_nothing_else_is() -> None:
    known = published().fine_tuning["lengthening"]
    for name, scale in paper_scales():
        for arm in at(name, scale).arms:
            recipe = arm.candidate.recipe
            said = name == "table4" and (arm.name == "lengthened" or arm.name.startswith("convbert"))
            if not said or arm.name.endswith("not_lengthened"):
                assert recipe.long_sequence_share == 0, (name, arm.name)
            else:
                assert recipe.long_sequence_share == known["long_sequence_share"], arm.name
                assert recipe.long_sequence_length == known["long_sequence_length"]


@pytest.mark.parametrize(("name", "scale"), paper_scales())
def test_every_metric_of_the_papers_columns_is_measured(name: str, scale: str) -> None:
    experiment = at(name, scale)
    paper = experiment.paper
    for column in published().tables[paper.table].columns if paper is not None and paper.table is not None else ():
        task, _, metric = column.partition(":")
        if column in DESCRIPTIONS:
            assert getattr(experiment.measure, column) is not None
        elif column != SCORE:
            assert task in experiment.fine_tuning.tasks
            assert metric in find_task(task).metrics


def test_every_columns_task_exists() -> None:
    of_papers = [name for name in EXPERIMENT_FILES if "/" in name and "paper" in scales(EXPERIMENTS / name)]
    own = {task for name in of_papers for task in experiment_of(name, "paper").fine_tuning.own_tasks}
    for name, table in published().tables.items():
        for task, _, metric in (column.partition(":") for column in table.columns if ":" in column):
            if task not in ("ax", "glue", *own):  # AX's labels are hidden; GLUE's scores are of several tasks
                assert task in task_names(), name
                assert metric.partition(" ")[0] in find_task(task).metrics, (name, task)


@pytest.mark.parametrize("name", ["table2", "table4"])
def test_files_that_are_missing_keep_no_scale_from_being_read(name: str, tmp_path: Path) -> None:
    experiment = at(name, "paper")
    tuning = experiment.fine_tuning.model_copy(update={"data": FolderOfTasks(path=str(tmp_path / "nowhere"))})
    with pytest.raises(DataError) as refusal:
        shared_stages(experiment.model_copy(update={"fine_tuning": tuning}))
    *wanted, hint = refusal.value.lines
    assert len(wanted) == len(tuning.tasks)
    assert all("expected: " in line and "from" in line for line in wanted)
    assert hint == HINT


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_common_stages_of_tables_are_shared(scale: str, tmp_path: Path) -> None:
    tables = {name: keys(where_files_are(at(name, scale), tmp_path)) for name in SHARING}
    first: dict[tuple[str, str], str] = {}
    met = 0
    for name, arms in tables.items():
        for identity, stages in arms.items():
            for label, key in stages.items():
                met += (identity, label) in first
                assert first.setdefault((identity, label), key) == key, (name, label)
    assert met >= 15


@pytest.mark.parametrize(
    ("table", "arm", "other", "same"),
    [
        ("table2", BASELINE, "kernel_size", BASELINE),
        ("table2", "span_dynamic", "kernel_size", "kernel_size=9"),
        ("table2", "span_dynamic", "heads", "bottleneck_ratio=2"),
        ("table2", "span_dynamic", "table1", "+span"),
        ("table2", "bottleneck", "table1", "+bottleneck"),
        ("table2", "span_dynamic", "table3", "convbert_small"),
        ("table1", "+wider", "table3", "convbert_medium_small"),
        ("table3", "convbert_base", "table7", "convbert_base"),
        ("table3", "convbert_small", "table4", "convbert_small"),
        ("table1_base", "+span", "table3", "convbert_base"),
    ],
)
def test_the_rows_that_tables_share(table: str, arm: str, other: str, same: str, tmp_path: Path) -> None:
    mine, theirs = (where_files_are(at(name, "paper"), tmp_path) for name in (table, other))
    candidates = [next(a.candidate for a in e.arms if a.name == n) for e, n in ((mine, arm), (theirs, same))]
    first, second = (each.model_copy(update={"recipe": each.recipe.main_phase}) for each in candidates)
    assert first == second
    pairs = [
        trial_stages(experiment, shared_stages(experiment), candidate, 1)
        for experiment, candidate in zip((mine, theirs), candidates, strict=True)
    ]
    common = pairs[0].keys() & pairs[1].keys()
    assert any(label.startswith("pretrain@") for label in common)
    assert all(pairs[0][label].key == pairs[1][label].key for label in common)
