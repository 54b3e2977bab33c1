"""Every row of the benchmarks runs, and every comparison of outputs can fail; no time is asserted."""

import gc

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers", reason="the peers are in the development extra")

from benchmarks import measuring
from benchmarks.__main__ import as_json
from benchmarks.cases import (
    activations,
    encoder,
    fine_tuning,
    generating,
    masked_language_model,
    pretraining,
    rows,
    span_dynamic,
)
from benchmarks.cases.glue_lengths import PERCENTILES, measured_lengths, read_lengths
from benchmarks.measuring import Disagreement, Figure, Interval, Pace, Row, Size, Skipped
from search_space.convolution import SpanDynamic
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.models.precision import has_bfloat16
from tests.factories.published_data import published

TINY = Size(operator_batch=2, batch=2, length=24, depth=2, widths=(64, 32), vocabularies=(101, 53), examples=40)
ONCE = Pace(pairs=1, seconds=0.0)
NUDGE = 0.05


@pytest.fixture(autouse=True)
def quick_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure a small matrix product beside each row, and collect no garbage of other tests between measurements."""
    monkeypatch.setattr(measuring, "PRODUCT_SIDE", 64)
    gc.freeze()


@pytest.mark.parametrize("row", list(rows(TINY)), ids=lambda row: row.name)
def test_every_row_runs_and_its_sides_agree(row: Row) -> None:
    try:
        figure = row.measure(ONCE)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert 0 < figure.ratio.low <= figure.ratio.ratio <= figure.ratio.high < float("inf")
    assert figure.ceiling is None or figure.ceiling > 0


def test_names_are_unique() -> None:
    names = [row.name for row in rows()]
    assert len(set(names)) == len(names)


def another_gradient(values: Tensor, kernel_logits: Tensor) -> Tensor:
    """Give the peer's output, and no gradient to the logits."""
    return span_dynamic.theirs(values, kernel_logits.detach()) + 0 * kernel_logits.sum()


def another_output(values: Tensor, kernel_logits: Tensor) -> Tensor:
    """Give the peer's output for another kernel."""
    return span_dynamic.theirs(values, 1.01 * kernel_logits)


@pytest.mark.parametrize("peer", [another_gradient, another_output])
def test_a_different_operator_is_detected(peer: span_dynamic.Operator) -> None:
    with pytest.raises(Disagreement):
        span_dynamic.agree(span_dynamic.ours, peer, TINY)


@torch.no_grad()
def nudge(module: torch.nn.Module, name: str) -> None:
    module.get_parameter(name).add_(NUDGE)


IN_HARDWARE = pytest.mark.skipif(not has_bfloat16(torch.device("cpu")), reason="this processor has no bfloat16")


@pytest.mark.parametrize("precision", [torch.float32, pytest.param(torch.bfloat16, marks=IN_HARDWARE)])
def test_a_different_encoder_is_detected(precision: torch.dtype) -> None:
    ours, theirs = encoder.pair(encoder.architecture(TINY, 64))
    encoder.agree(ours, theirs, TINY, torch.float32)
    with torch.no_grad():
        ours.blocks[1].feed_forward_norm.bias[0] += 1.0
    with pytest.raises(Disagreement):
        encoder.agree(ours, theirs, TINY, precision)


def test_a_different_step_is_detected() -> None:
    match = pretraining.match(TINY, TINY.vocabularies[0])
    pretraining.agree(match)
    nudge(match.ours, "generator.blocks.0.attention_norm.weight")
    with pytest.raises(Disagreement):
        pretraining.agree(match)


@pytest.mark.parametrize("system", masked_language_model.SYSTEMS)
def test_a_different_step_of_masked_language_modelling_is_detected(system: str) -> None:
    match = masked_language_model.match(TINY, system)
    masked_language_model.agree(match)
    nudge(match.ours, "head.norm.weight")
    with pytest.raises(Disagreement):
        masked_language_model.agree(match)


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("GPT", "encoder.blocks.0.feed_forward_norm.bias"),
        ("BART", "encoder.blocks.1.feed_forward_norm.bias"),
        ("BART", "encoder.decoder.blocks.0.cross_attention_norm.bias"),
    ],
)
def test_a_different_step_of_a_model_that_writes_is_detected(system: str, name: str) -> None:
    match = generating.match(TINY, system)
    generating.agree(match)
    nudge(match.ours, name)
    with pytest.raises(Disagreement):
        generating.agree(match)


def test_leaking_padding_is_detected() -> None:
    lengths, _ = read_lengths(TINY.examples, 12)
    examples = fine_tuning.examples_of(lengths, TINY)
    for leak, noticed in (("masked", False), ("as_released", True)):
        convolution = SpanDynamic(kernel_size=9, padding=leak)
        built = encoder.architecture(TINY, 32).model_copy(update={"convolution": convolution})
        model = build_fine_tuned(built, "pair", 2, "mean", 0.0)
        initialise(model, 1)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(4)
        if noticed:
            with pytest.raises(Disagreement):
                fine_tuning.agree(model, examples, TINY)
        else:
            fine_tuning.agree(model, examples, TINY)


def test_the_table_of_lengths_is_that_of_the_data() -> None:
    measured = np.percentile(measured_lengths(published("")), np.linspace(0, 100, len(PERCENTILES)))
    assert np.abs(measured - PERCENTILES).max() <= 0.5


def test_a_row_of_the_results_has_whether_the_target_was_met() -> None:
    row = Row("a", "b", 2.0, lambda _: Figure(Interval(2.5, 2.4, 2.6, 9)))
    told = as_json(row, row.measure(ONCE))
    assert [told[key] for key in ("name", "ratio", "low", "high", "reach", "reached")] == [
        "a",
        2.5,
        2.4,
        2.6,
        2.0,
        True,
    ]
    skipped = as_json(row, Skipped("no such processor"))
    assert (skipped["ratio"], skipped["reached"], skipped["note"]) == (None, None, "no such processor")


def test_saving_fewer_activations_uses_less_memory() -> None:
    """Ordered as their names say, at a size where a layer is more than its weights."""
    size = Size(batch=4, length=64, depth=2, widths=(64, 32), vocabularies=(101, 53))
    ratios = [
        row.measure(ONCE).ratio.ratio for row in activations.rows(size) if "float32" in row.name.partition(",")[2]
    ]
    assert ratios == sorted(ratios, reverse=True)
