"""`measure.latency` as data: Table 9's file, its closed-form costs, its mistakes by line, its former layout."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from search_space.candidate import Candidate
from search_space.cost import CONVENTIONS, MATMUL
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.measurements.latency import Latency, part_flops, part_parameters
from steeplechase.configuration.yaml import scales
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import JsonValue
from tests.factories.latencies import ARMS, architecture_of, experiment
from tests.factories.paths import ROOT

TABLE9 = ROOT / "experiments" / "table9.yaml"
RECOMPUTED = {64: 0.872, 128: 0.858, 256: 0.831, 512: 0.789, 1024: 0.730}
"""FLOPs of ConvBERT-Base's mixed attention over self-attention, counted from the release as ELECTRA counts."""


def ratio(part: str, length: int, convention: str) -> float:
    table = load_experiment(TABLE9, "laptop")
    counted = CONVENTIONS[convention]
    mixed, attention = (
        part_flops(architecture_of(table, arm), part, length, counted)  # type: ignore[arg-type]
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
        published = load_experiment(TABLE9, scale)
        assert published.measure.latency is not None
        assert published.measure.latency.lengths == tuple(RECOMPUTED)
        assert (published.baseline.architecture.width, published.baseline.architecture.heads) == (768, 12)


@given(some.sampled_from(("attention", "block")), some.integers(1, 64), some.integers(1, 4))
def test_costs_are_of_one_copy_whatever_the_depth(part: str, length: int, depth: int) -> None:
    one = architecture_of(experiment(), "mixed")
    deep = one.model_copy(update={"depth": depth})
    assert part_flops(deep, part, length) == part_flops(one.model_copy(update={"depth": 1}), part, length)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["attention", "block"])
@pytest.mark.parametrize("arm", ["attention", "mixed"])
def test_closed_form_parameters_are_those_of_the_timed_module(part: str, arm: str) -> None:
    from tests.factories.sublayers import attention_of, block_of

    architecture = architecture_of(experiment(), arm)
    module = {"attention": attention_of, "block": block_of}[part](architecture, 0.0)
    assert sum(each.numel() for each in module.parameters()) == part_parameters(architecture, part)  # type: ignore[arg-type]
    block, alone = (part_flops(architecture, kind, 8, MATMUL) for kind in ("block", "attention"))  # type: ignore[arg-type]
    assert block - alone == 8 * 2 * 2 * 16 * 32


def test_identity_has_what_changes_a_measurement_and_nothing_else() -> None:
    one = experiment()
    assert one.identity() == one.model_copy(update={"question": "Another?", "paper": None}).identity()
    assert one.identity() == experiment(faster=(), widening=()).identity()
    for changed in (experiment(rounds=4), experiment(lengths=(8,)), experiment(part="block"), experiment(seed=2)):
        assert changed.identity() != one.identity()


MISTAKES = """\
experiment: mistaken
question: What is wrong here?
baseline: { architecture: { width: 32, embedding_width: 32, heads: 4 } }
design:
  kind: list
  arms:
    mixed: { bottleneck_ratio: 2 }
    slow: { recipe.dropout: 0.0 }
measure:
  latency:
    lengths: [8, 8]
    baseline: attention
    control: mixed
    faster: [mixd > attention]
    widening: [bottleneck]
fine_tuning: { tasks: [docs_pair] }
claims: ["held_out_loss(mixed) < held_out_loss(baseline)"]
tracking: postgresql://me:secret@host/runs
"""


def refusal_of(text: str) -> list[str]:
    Path("f.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(Path("f.yaml"), None)
    return [*refusal.value.lines]


def test_all_mistakes_of_a_file_are_reported_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = {
        4: "slow changes recipe.dropout, which nothing reads without `pretraining`",
        11: "8 is listed twice",
        13: "mixed is the name of another arm",
        14: "'mixd' is not an arm. Allowed: attention, mixed, slow",
        15: "'bottleneck' is not an arm",
        16: "fine_tuning.tasks: needs trained models, and there is no `pretraining`",
        17: "claims: needs trained models",
        18: "password",
    }
    lines = refusal_of(MISTAKES)
    assert [line.partition(": ")[0] for line in lines] == [f"f.yaml:{at}" for at in told]
    for line, words in zip(lines, told.values(), strict=True):
        assert words in line


def test_an_architecture_without_one_stack_of_named_blocks_is_not_timed() -> None:
    timing = experiment().measure.latency
    assert timing is not None
    pair = Candidate(architecture=EncoderDecoderArchitecture())
    (found,) = timing.violations(8, {"baseline": Candidate(), "mixed": pair})
    assert found.message == "mixed is no encoder of named blocks, whose part could be timed"


def test_an_experiment_without_trials_and_measurements_lacks_its_pretraining(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = refusal_of(MISTAKES[: MISTAKES.index("    slow:")])
    assert "pretraining: this key is missing" in line


def test_a_record_of_the_former_layout_is_an_experiment_of_today() -> None:
    former: dict[str, JsonValue] = {
        "experiment": "speed",
        "question": "Which is faster?",
        "paper": {"source": "a", "statement": "b", "orderings": ["mixed > attention"], "widening": ["mixed"]},
        "architecture": {"width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32},
        "arms": {"attention": {}, "control": {}, "mixed": {"bottleneck_ratio": 2, "convolution": "span_dynamic"}},
        "baseline": "attention",
        "timing": {"lengths": [8, 16], "rounds": 3, "warm_up_rounds": 1},
    }
    read = Experiment.of_record(former)
    same = experiment({"attention": {}, "control": {}, "mixed": ARMS["mixed"]})
    assert read.identity() == same.identity()
    assert read.measure == same.measure
    two = {**former, "arms": {"attention": {}, "control": {}, "copy": {}}}
    assert Latency.of_former(two) == two
