"""Training on sources and targets, also as a stack that fills [MASK]: planted pairs are learned, a leak is not."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import TrainingSettings, mean_target_loss, train_pairs
from runners.training.text_writer import (
    NOT_PREDICTED,
    ClozeModel,
    ClozeWriter,
    DecoderWriter,
    JoinedPairs,
    PairTensors,
    chosen_tokens,
    pair_loss,
)
from search_space.architecture import Architecture
from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import target_decoding
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from steeplechase.models.initialisation import initialise
from steeplechase.models.visible_tokens import visible_tokens
from steeplechase.tasks.labelled.forms import EncodedTextPairs
from tests.factories.encoder_decoders import architecture, built
from tests.factories.planted_text_pairs import END, START, VOCABULARY, planted_pairs, trained_on_planted_pairs
from tests.factories.small_experiments import WORDS, stir

UNSEEN = planted_pairs(100, 99)
ROWS = np.arange(100)


@cache
def trained() -> EncoderDecoder:
    """Return one model for all tests; it takes four seconds of a processor."""
    return trained_on_planted_pairs(updates=200)[0]


def exact(model: EncoderDecoder, beams: int) -> float:
    """Return the share of unseen sources whose generated target is the reference."""
    settings = SearchSettings(END, 14, beams, 0.6)
    sources = torch.from_numpy(np.asarray(UNSEEN.sources.tokens).astype(np.int64))
    with torch.inference_mode():
        source = model.encode(sources)
    find = greedy_search if beams == 1 else beam_search
    found = find(target_decoding(model, source, beams), torch.full((100, 1), START), settings)
    texts = [" ".join(map(str, each.tokens)) for each in found]
    return float(np.mean([text == reference for text, reference in zip(texts, UNSEEN.references, strict=True)]))


@pytest.mark.parametrize("beams", [1, 4])
def test_copies_and_reversals_are_learned(beams: int) -> None:
    assert exact(trained(), beams) > 0.99


def test_a_decoder_that_looks_ahead_has_a_low_loss_and_generates_nothing() -> None:
    """The twin of the test above: its attention hides no token of the target, so that it copies what it predicts."""
    model, losses = trained_on_planted_pairs(updates=100, looks_ahead=True)
    assert losses[-1] < 0.2 < 0.5 * math.log(8)
    assert exact(model, 1) < 0.05


def test_the_target_loss_is_of_every_token_with_its_end() -> None:
    model = trained()
    batches = [ROWS[:30], ROWS[30:]]
    writer = DecoderWriter(model, START)
    found = mean_target_loss(writer, UNSEEN, batches)
    assert found == pytest.approx(mean_target_loss(writer, UNSEEN, [ROWS]), rel=1e-4)
    batch = PairTensors.of(UNSEEN, ROWS, START, torch.device("cpu"))
    with torch.inference_mode():
        logits = model.target_logits(batch.sources, None, batch.inputs)
    assert found == pytest.approx(cross_entropy(logits.flatten(0, 1), batch.targets.flatten()).item(), rel=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["transformer", "untied"])
def test_the_smoothed_loss_and_its_gradients_are_those_of_torch(kind: str, smoothing: float) -> None:
    """Over the predicted tokens alone; the reference has the logits of all positions."""
    model = built(architecture(kind, vocabulary_size=VOCABULARY))
    batch = PairTensors.of(UNSEEN, ROWS[:4], START, torch.device("cpu"))
    batch.targets[:2, 5:] = NOT_PREDICTED
    found = pair_loss(model, batch, smoothing)
    gradients = torch.autograd.grad(found, list(model.parameters()))
    logits = model.target_logits(batch.sources, None, batch.inputs).flatten(0, 1)
    expected = cross_entropy(logits, batch.targets.flatten(), label_smoothing=smoothing)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    for one, other in zip(gradients, torch.autograd.grad(expected, list(model.parameters())), strict=True):
        assert (one - other).abs().max() <= 1e-4 * max(1.0, other.abs().max().item())


def settings(**changes: object) -> TrainingSettings:
    values = {"epochs": 3, "peak_rate": 1e-2, "warmup_share": 0.0, "schedule": "linear", "label_smoothing": 0.0}
    return TrainingSettings(**{**values, "averaged_checkpoints": 1, "precision": "float32", **changes})  # type: ignore[arg-type]


def test_rates_are_those_of_the_schedules() -> None:
    root = settings(schedule="inverse_square_root", warmup_share=0.1)
    rates = [root.rate(update, 100) for update in range(100)]
    assert rates[9] == max(rates) == 1e-2
    assert rates[:10] == pytest.approx([1e-2 * (update + 1) / 10 for update in range(10)])
    assert rates[39] == pytest.approx(1e-2 * math.sqrt(10 / 40))
    linear = [settings(warmup_share=0.1).rate(update, 100) for update in range(100)]
    assert (max(linear), linear[99]) == (1e-2, pytest.approx(1e-2 / 90))


def test_averaged_weights_are_the_mean_of_the_last_epochs() -> None:
    pairs, batches = planted_pairs(32, 5), list(np.arange(32).reshape(2, 16))

    def weights(averaged: int, epochs: int) -> dict[str, torch.Tensor]:
        model = built(architecture("transformer", vocabulary_size=VOCABULARY), spread=0.0)
        changed = settings(epochs=epochs, averaged_checkpoints=averaged, schedule="inverse_square_root")
        hooks = (lambda _epoch: batches, np.random.default_rng, lambda _share, _loss: None)
        train_pairs(DecoderWriter(model, START), pairs, changed, adamw(model, 0.0), *hooks)
        return dict(model.named_parameters())

    # the rates of this schedule without warm-up do not depend on the number of updates
    second, third, mean = weights(1, 2), weights(1, 3), weights(2, 3)
    for name, value in mean.items():
        assert torch.allclose(value, (second[name] + third[name]) / 2, atol=1e-6), name
    assert not torch.equal(mean["blocks.0.attention.query.weight"], third["blocks.0.attention.query.weight"])


SIZES: dict[str, Any] = {
    "depth": 2, "width": 32, "embedding_width": 24, "heads": 4, "feed_forward_width": 48, "positions": 32,
    "segments": 6, "vocabulary_size": WORDS.vocabulary_size,
}  # fmt: skip


CLOZE_ROWS = np.arange(4)


def writer(mask_share: float = 0.7, **changes: Any) -> ClozeWriter:
    model = ClozeModel(Architecture.model_validate({**SIZES, **changes}), 0.0)
    initialise(model, 1)
    stir(model)
    return ClozeWriter(model.eval(), WORDS, mask_share)


def unequal_pairs() -> EncodedTextPairs:
    """Return four pairs, of which two have a shorter target."""
    pairs = planted_pairs(4, 7, length=5)
    lengths = np.asarray([6, 3, 6, 2], np.int32)
    targets = np.where(np.arange(6) < lengths[:, None], pairs.targets, WORDS.pad).astype(np.int32)
    return replace(pairs, targets=targets, target_lengths=lengths)


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=5), share=st.floats(0.01, 1.0), seed=st.integers(0, 99)
)
@examples_of(max_examples=50)
def test_a_share_of_the_allowed_tokens_is_chosen(lengths: list[int], share: float, seed: int) -> None:
    allowed = np.arange(30) < np.asarray(lengths)[:, None]
    chosen = chosen_tokens(allowed, share, np.random.default_rng(seed))
    assert not (chosen & ~allowed).any()
    assert chosen.sum(1).tolist() == [max(1, round(share * length)) for length in lengths]


@pytest.mark.parametrize("segments", [1, 6])
@torch.no_grad()
def test_losses_are_those_of_a_mask_at_each_place(segments: int) -> None:
    """By brute force: one pass for each token of each target, with the tokens before it and a [MASK]."""
    pairs, under_test = unequal_pairs(), writer(segments=segments)
    found = under_test.target_losses(pairs, CLOZE_ROWS)
    joined, expected = JoinedPairs.of(pairs, CLOZE_ROWS, WORDS.pad), []
    encoder = under_test.model.encoder
    for row, place in np.argwhere(joined.in_target).tolist():
        tokens = torch.from_numpy(joined.tokens[row : row + 1, : place + 1].copy())
        target, tokens[0, -1] = tokens[0, -1:].clone(), WORDS.mask
        source = int(joined.sources[row])
        visible = visible_tokens(["prefix"], place + 1, source, torch.device("cpu"))
        numbers = torch.tensor([[4] * source + [5] * (place + 1 - source)]) if segments == 6 else None
        state = encoder.read(tokens, numbers, None, AttentionContext(visible=visible))[:, -1]
        expected.append(cross_entropy(under_test.model.logits(state), target))
    assert (found - torch.stack(expected)).abs().max() < 1e-4
    assert mean_target_loss(under_test, pairs, [CLOZE_ROWS]) == pytest.approx(
        torch.stack(expected).mean().item(), rel=1e-4
    )


def test_the_training_loss_is_torch_s_over_the_masked_tokens() -> None:
    pairs, under_test = unequal_pairs(), writer(mask_share=1.0)
    joined = JoinedPairs.of(pairs, CLOZE_ROWS, WORDS.pad)
    seen = []
    original = under_test._states

    def states(inputs: np.ndarray, of: JoinedPairs) -> torch.Tensor:
        seen.append(inputs)
        return original(inputs, of)

    under_test._states = states  # type: ignore[method-assign]
    loss = under_test.training_loss(pairs, CLOZE_ROWS, 0.1, np.random.default_rng(1))
    (inputs,) = seen
    assert (inputs[~joined.in_target] == joined.tokens[~joined.in_target]).all(), "nothing else is masked"
    assert (inputs[joined.in_target] == WORDS.mask).mean() > 0.5
    places = torch.from_numpy(joined.in_target)
    logits = under_test.model.logits(original(inputs, joined)[places])
    expected = cross_entropy(logits, torch.from_numpy(joined.tokens[joined.in_target]), label_smoothing=0.1)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)


def test_sources_of_different_lengths_are_not_decoded_together() -> None:
    under_test = writer()
    lengths = np.asarray([3, 5, 3, 4, 5, 3], np.int32)
    batches = [rows.tolist() for rows in under_test.batches(lengths, 2)]
    assert sorted(row for rows in batches for row in rows) == [*range(6)]
    assert all(len(set(lengths[rows].tolist())) == 1 and len(rows) <= 2 for rows in batches)
    with pytest.raises(ValueError, match="sources of different lengths cannot be continued together"):
        under_test.decoding(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool), 1)
