"""The paper's tables as experiments: scale `paper` is what was released, and tables share their rows."""

from pathlib import Path

import pytest

from runners.designs.arm import BASELINE, Arm
from runners.experiment import Experiment
from runners.itinerary import shared_stages, trial_stages
from runners.loading import load, scales
from search_space.departure import departures
from search_space.operations import CONVENTIONS
from search_space.presets import PRESETS, Preset, costs_of, preset_of
from search_space.published import PublishedRow, published

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
TABLES = (
    "table1", "table1_base", "table2", "table3", "table3_bert", "table4", "table7", "kernel_size",
    "kernel_size_short", "heads",
)  # fmt: skip
SHARING = ("table1", "table2", "table3", "table4", "table7", "kernel_size", "heads")
ABLATED = {"heads", "bottleneck ratio", "convolution", "feed forward groups"}
SETTINGS = {("table7", "paper_mlm"): {"objective"}, ("kernel_size_short", "paper"): {"sequence length"}}
"""What a setting changes in every arm of a table, by its own word."""
ELECTRA = CONVENTIONS["electra"]


def at(name: str, scale: str) -> Experiment:
    return load(EXPERIMENTS / f"{name}.yaml", Experiment, scale)


def paper_scales() -> list[tuple[str, str]]:
    return [(name, scale) for name in TABLES for scale in scales(EXPERIMENTS / f"{name}.yaml") if "paper" in scale]


def row_of(experiment: Experiment, arm: Arm) -> PublishedRow | None:
    paper = experiment.paper
    if paper is None or paper.table is None or arm.name not in paper.rows:
        return None
    return published().tables[paper.table].rows[paper.rows[arm.name]]


def gap(experiment: Experiment, arm: Arm, preset: Preset) -> set[str]:
    return {each.name for each in departures(arm.candidate, experiment.pretraining.tokens, preset)}


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
            gaps = [gap(experiment, arm, preset) for preset in PRESETS.values()]
            assert any(found <= ABLATED | setting | own for found in gaps), (arm.name, min(gaps, key=len))


@pytest.mark.parametrize(("name", "scale"), paper_scales())
def test_at_paper_scale_every_published_row_costs_what_is_published(name: str, scale: str) -> None:
    experiment, compared = at(name, scale), 0
    for arm in experiment.arms:
        row, candidate = row_of(experiment, arm), arm.candidate
        if row is None or (name, scale) in SETTINGS:
            continue
        parameters, flops = costs_of(row)
        found = candidate.train_flops(experiment.pretraining.tokens, experiment.baseline.architecture, ELECTRA)
        assert parameters is None or candidate.architecture.parameters == parameters
        assert flops is None or found == pytest.approx(flops, rel=0.01), arm.name
        compared += flops is not None
    assert compared or not experiment.paper or not experiment.paper.rows or (name, scale) in SETTINGS


def keys(experiment: Experiment) -> dict[str, dict[str, str]]:
    """Return the stages' keys of every arm at the first seed, by what the arm is."""
    shared = shared_stages(experiment)
    found = {}
    for arm in experiment.arms:
        stages = trial_stages(experiment, shared, arm.candidate, 1)
        found[arm.identity] = {label: stage.key for label, stage in stages.items()}
    return found


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_what_tables_have_in_common_is_one_stage(scale: str) -> None:
    tables = {name: keys(at(name, scale)) for name in SHARING}
    first: dict[tuple[str, str], str] = {}
    met = 0
    for name, arms in tables.items():
        for identity, stages in arms.items():
            for label, key in stages.items():
                met += (identity, label) in first
                assert first.setdefault((identity, label), key) == key, (name, label)
    assert met >= 15


@pytest.mark.parametrize("scale", ["laptop", "paper"])
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
    ],
)
def test_the_rows_that_tables_share(scale: str, table: str, arm: str, other: str, same: str) -> None:
    mine, theirs = at(table, scale), at(other, scale)
    candidates = [next(a.candidate for a in e.arms if a.name == n) for e, n in ((mine, arm), (theirs, same))]
    assert candidates[0] == candidates[1]
    pairs = [
        trial_stages(experiment, shared_stages(experiment), candidate, 1)
        for experiment, candidate in zip((mine, theirs), candidates, strict=True)
    ]
    common = pairs[0].keys() & pairs[1].keys()
    assert any(label.startswith("pretrain@") for label in common)
    assert all(pairs[0][label].key == pairs[1][label].key for label in common)


def test_at_paper_scale_the_base_ladder_shares_its_base_model() -> None:
    ladder, table = at("table1_base", "paper"), at("table3", "paper")
    (base,) = (arm.candidate for arm in ladder.arms if arm.name == "+span")
    stages = trial_stages(ladder, shared_stages(ladder), base, 1)
    (other,) = (arm.candidate for arm in table.arms if arm.name == "convbert_base")
    theirs = trial_stages(table, shared_stages(table), other, 1)
    assert next(iter(stages.values())).key == next(iter(theirs.values())).key
