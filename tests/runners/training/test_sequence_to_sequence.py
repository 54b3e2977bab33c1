"""Training on sources and targets: planted pairs are learned, a leak is not; loss and rates are the equations'."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import TrainingSettings, mean_target_loss, train_pairs
from runners.training.text_writer import NOT_PREDICTED, DecoderWriter, PairTensors, pair_loss
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import target_decoding
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from tests.factories.encoder_decoders import architecture, built
from tests.factories.planted_text_pairs import END, START, VOCABULARY, planted_pairs, trained_on_planted_pairs

UNSEEN = planted_pairs(100, 99)
ROWS = np.arange(100)


@cache
def trained() -> EncoderDecoder:
    """Return one model for all tests; it takes six seconds of a processor."""
    return trained_on_planted_pairs(updates=300)[0]


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
    model, losses = trained_on_planted_pairs(updates=120, looks_ahead=True)
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
