"""Logits equal those of BART, Marian and torch.nn.Transformer on the same weights, with padding; a nudge shows."""

import pytest
import torch
from torch import Tensor

from steeplechase.models.huggingface.families.encoder_decoder import OUTPUT_BIAS
from steeplechase.models.huggingface.weight_names import encoder_pairs, from_transformers, to_transformers
from tests.factories.encoder_decoder_references import REFERENCES
from tests.factories.encoder_decoders import tokens
from tests.factories.parity import LARGEST, nudged

every_reference = pytest.mark.parametrize("name", REFERENCES)


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Return source, its padding mask, and target."""
    mask = torch.arange(12) < torch.tensor([12, 7, 1])[:, None]
    return tokens(1), mask, tokens(2, 3, 9)


@every_reference
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
@torch.no_grad()
def test_logits_equal_those_of_the_reference(name: str, dtype: torch.dtype) -> None:
    reference = REFERENCES[name](dtype)
    ours, theirs = reference.our_logits(*inputs()), reference.their_logits(*inputs())
    assert theirs.abs().max() > 1
    assert (ours - theirs).abs().max() <= LARGEST[dtype]


@every_reference
@torch.no_grad()
def test_a_nudge_of_any_tensor_is_seen(name: str) -> None:
    """Every parameter matters but the bias of a key, which adds a constant to all scores of a query."""
    reference = REFERENCES[name](torch.float64)
    expected = reference.their_logits(*inputs())
    for parameter_name in nudged(reference.ours.named_parameters()):
        change = (reference.our_logits(*inputs()) - expected).abs().max()
        silent = parameter_name.endswith("attention.key.bias")
        assert (change > LARGEST[torch.float64]) != silent, parameter_name


@pytest.mark.parametrize("name", ["bart", "marian"])
def test_weights_come_back_as_they_were(name: str) -> None:
    """The names and the order of channels are a bijection."""
    reference = REFERENCES[name](torch.float64)
    pairs = encoder_pairs(reference.ours.architecture)
    weights = dict(reference.ours.named_parameters())
    there = to_transformers(weights, pairs)
    back = from_transformers(there, pairs)
    assert all(torch.equal(back[each], weights[each]) for each in back)
    theirs = dict(reference.theirs.model.named_parameters())
    theirs |= dict(reference.theirs.named_buffers()) if name == "marian" else {}
    assert {each for each in theirs if theirs[each].requires_grad or each == OUTPUT_BIAS} == there.keys()
    assert all(torch.equal(theirs[each], there[each]) for each in there)
