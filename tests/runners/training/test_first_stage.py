"""BART's two stages: what is frozen stays bit for bit, and a pretrained model is understood in a new language.

Planted: the pretrained model copies or reverses what it reads; the new language writes every symbol as another one.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import FirstStage, TrainingSettings, train_pairs
from runners.training.text_writer import DecoderWriter
from search_space.source_encoder import SourceEncoderSizes
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder, add_source_encoder, first_stage_parameters
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.labelled.text_pairs import EncodedTextPairs
from tests.factories.encoder_decoders import architecture
from tests.factories.planted_text_pairs import FIRST_SYMBOL, START, VOCABULARY, planted_pairs

PRE_NORM = {"kind": "pre_norm", "embedding": False}
SMALL = {"width": 32, "feed_forward_width": 64, "depth": 1, "decoder_depth": 1, "vocabulary_size": VOCABULARY}
ARM = architecture("bart", **SMALL, normalisation=PRE_NORM)
RATE, ROWS, LENGTH = 5e-3, 32, 3
SETTINGS = TrainingSettings(1, RATE, 0.1, "linear", 0.0, 1, "float32")


def untrained() -> EncoderDecoder:
    model = build_encoder(ARM, 0.0)
    assert isinstance(model, EncoderDecoder)
    initialise(model, 1)
    return model


def new_language(pairs: EncodedTextPairs) -> EncodedTextPairs:
    """Return the pairs with every symbol of their sources written as another one."""
    other = np.arange(VOCABULARY)
    other[FIRST_SYMBOL:] = np.roll(other[FIRST_SYMBOL:], 3)
    sources = replace(pairs.sources, tokens=other[np.asarray(pairs.sources.tokens)].astype(np.int32))
    return replace(pairs, sources=sources)


def losses_of(
    model: EncoderDecoder, pairs: EncodedTextPairs, updates: int, settings: TrainingSettings = SETTINGS
) -> list[float]:
    losses: list[float] = []
    batches = list(np.arange(ROWS * updates).reshape(updates, ROWS))
    hooks = (lambda _epoch: batches, np.random.default_rng, lambda _share, loss: losses.append(loss))
    train_pairs(DecoderWriter(model, START), pairs, settings, adamw(model, 0.01), *hooks)
    return losses


@cache
def pretrained_values() -> dict[str, Tensor]:
    model = untrained()
    assert losses_of(model, planted_pairs(100 * ROWS, 1, LENGTH), 100)[-1] < 0.2
    return {name: value.clone() for name, value in model.state_dict().items()}


def translating(*, pretrained: bool = True) -> EncoderDecoder:
    model = untrained()
    if pretrained:
        model.load_state_dict(pretrained_values())
    encoder = add_source_encoder(model, SourceEncoderSizes(depth=1).architecture(ARM, VOCABULARY))
    initialise(nn.ModuleDict({"source_encoder": encoder}), 3)
    return model


def trained_on_new_language(
    model: EncoderDecoder, share: float, updates: int = 60
) -> tuple[list[float], set[str], set[str]]:
    """Return the losses, and the parameters that changed, of the pretrained ones and of those of the first stage."""
    before = {name: value.clone() for name, value in model.named_parameters()}
    updated = first_stage_parameters(model)
    settings = replace(SETTINGS, first_stage=FirstStage(share, [*updated.values()], RATE))
    losses = losses_of(model, new_language(planted_pairs(updates * ROWS, 7, LENGTH)), updates, settings)
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    return losses, changed, set(updated)


def test_a_pretrained_model_understands_a_new_language_by_its_new_encoder_alone() -> None:
    losses, changed, first = trained_on_new_language(translating(), share=1.0)
    assert changed == first
    assert losses[-1] < 0.5 < 0.25 * losses[0]


def test_an_untrained_model_does_not() -> None:
    """The twin of the test above: what is frozen has learned nothing, so that the same updates lead nowhere."""
    losses, changed, first = trained_on_new_language(translating(pretrained=False), share=1.0)
    assert changed == first
    assert losses[-1] > 1.2


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_one_stage_and_the_second_of_two_change_everything(share: float) -> None:
    model = translating()
    _, changed, first = trained_on_new_language(model, share, updates=4)
    assert changed == {name for name, _ in model.named_parameters()} > first


def test_both_stages_have_a_warm_up_and_a_decay_of_their_own() -> None:
    two = replace(SETTINGS, first_stage=FirstStage(0.8, (), 1e-4))
    rates = [two.rate(update, 100) for update in range(100)]
    assert rates[:80] == [SETTINGS.rate(update, 80) for update in range(80)]
    assert rates[80:] == pytest.approx([SETTINGS.rate(update, 20) * 1e-4 / RATE for update in range(20)])
    fixed = replace(SETTINGS, first_stage=FirstStage(1.0, (), 1e-4))
    assert [fixed.rate(update, 7) for update in range(7)] == [SETTINGS.rate(update, 7) for update in range(7)]
    one = replace(SETTINGS, first_stage=FirstStage(0.0, (), RATE))
    assert [one.rate(update, 7) for update in range(7)] == [SETTINGS.rate(update, 7) for update in range(7)]
