"""A latency experiment as data: Table 9's file, its closed-form costs, and its mistakes by line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from search_space.cost import CONVENTIONS, MATMUL
from steeplechase.commands.reference import files_schema, files_schema_text
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment, part_flops, part_parameters
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import load, read_file, scales
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.latencies import experiment
from tests.factories.paths import ROOT

TABLE9 = ROOT / "experiments" / "table9.yaml"
RECOMPUTED = {64: 0.872, 128: 0.858, 256: 0.831, 512: 0.789, 1024: 0.730}
"""FLOPs of ConvBERT-Base's mixed attention over self-attention, counted from the release as ELECTRA counts."""


def ratio(part: str, length: int, convention: str) -> float:
    table = load(TABLE9, LatencyExperiment, "laptop")
    counted = CONVENTIONS[convention]
    mixed, attention = (
        part_flops(table.architecture_of(arm), part, length, counted)  # type: ignore[arg-type]
        for arm in ("mixed", "attention")
    )
    return mixed / attention


@pytest.mark.parametrize(("length", "expected"), RECOMPUTED.items())
def test_operations_of_table_9_agree_with_the_recomputed_ones(length: int, expected: float) -> None:
    assert ratio("attention", length, "electra_corrected") == pytest.approx(expected, abs=6e-4)
    assert ratio("attention", length, "matmul") == pytest.approx(expected, abs=5e-3)
    assert ratio("attention", length, "matmul") < ratio("block", length, "matmul") < 1


def test_the_scales_of_table_9_are_those_of_every_experiment() -> None:
    assert set(scales(TABLE9)) == {"paper", "laptop", "demo", "smoke"}
    for scale in ("paper", "laptop"):
        published = load(TABLE9, LatencyExperiment, scale)
        assert published.timing.lengths == tuple(RECOMPUTED)
        assert (published.architecture.width, published.architecture.heads) == (768, 12)


@given(some.sampled_from(("attention", "block")), some.integers(1, 64), some.integers(1, 4))
def test_costs_are_of_one_copy_whatever_the_depth(part: str, length: int, depth: int) -> None:
    one = experiment().architecture_of("mixed")
    deep = one.model_copy(update={"depth": depth})
    assert part_flops(deep, part, length) == part_flops(one.model_copy(update={"depth": 1}), part, length)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["attention", "block"])
@pytest.mark.parametrize("arm", ["attention", "mixed"])
def test_closed_form_parameters_are_those_of_the_timed_module(part: str, arm: str) -> None:
    from tests.factories.sublayers import attention_of, block_of

    architecture = experiment().architecture_of(arm)
    module = {"attention": attention_of, "block": block_of}[part](architecture, 0.0)
    assert sum(each.numel() for each in module.parameters()) == part_parameters(architecture, part)  # type: ignore[arg-type]
    block, alone = (part_flops(architecture, kind, 8, MATMUL) for kind in ("block", "attention"))  # type: ignore[arg-type]
    assert block - alone == 8 * 2 * 2 * 16 * 32


def test_identity_has_what_changes_a_measurement_and_nothing_else() -> None:
    one = experiment()
    assert one.identity() == one.model_copy(update={"question": "Another?", "paper": None}).identity()
    turned = experiment({name: one.arms[name] for name in reversed(one.arms)})
    assert one.identity() == turned.identity()
    for changed in (experiment(rounds=4), experiment(lengths=(8,)), experiment(part="block"), experiment(seed=2)):
        assert changed.identity() != one.identity()


MISTAKES = """\
experiment: mistaken
question: What is wrong here?
architecture: { width: 32, embedding_width: 32, heads: 4 }
baseline: atention
arms:
  attention: {}
  mixed: { bottleneck_ratio: 3 }
  slow: { recipe.dropout: 0.0 }
  odd: { convolution: { kind: dynamic, kernel_size: 8 } }
timing: { lengths: [8, 8], part: attention }
paper: { source: a, statement: b, orderings: [mixd > attention], widening: [bottleneck] }
tracking: postgresql://me:secret@host/runs
"""


def test_all_mistakes_of_a_file_are_reported_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(MISTAKES)
    with pytest.raises(ConfigurationError) as refusal:
        experiment_in(read_file(Path("f.yaml")), None)
    lines = refusal.value.lines
    assert [line.partition(": ")[0] for line in lines] == [f"f.yaml:{at}" for at in (4, 7, 8, 9, 10, 11, 11, 12)]
    for line, words in zip(
        lines,
        ("atention", "γ", "only the architecture is timed", "8 is even", "twice", "mixd", "bottleneck", "password"),
        strict=True,
    ):
        assert words in line


def test_a_timing_section_makes_a_file_a_latency_experiment() -> None:
    assert isinstance(experiment_in(read_file(TABLE9), "smoke"), LatencyExperiment)
    assert isinstance(experiment_in(read_file(TABLE9.with_name("table2.yaml")), "smoke"), Experiment)


def test_the_schema_distinguishes_the_two_kinds_of_file() -> None:
    schema = files_schema()
    timed, trained = schema["then"], schema["else"]
    assert isinstance(timed, dict)
    assert isinstance(trained, dict)
    assert set(timed["properties"]) == {*LatencyExperiment.model_fields, "scales"}  # type: ignore[arg-type]
    assert "pretraining" in trained["properties"]  # type: ignore[operator]
    text = files_schema_text()
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        assert reference.removeprefix("#/$defs/") in definitions
