"""Parity with transformers' models with the same weights: hidden states, logits and every gradient, with padding."""

import pytest
import torch
from torch import Tensor, nn

from tests.factories.huggingface_reference import MODELS, Pair, conv_bert, with_same_weights
from tests.factories.parity import LARGEST, distance, nudged

ROWS, LENGTH = (17, 12, 1), 17


@pytest.fixture(params=MODELS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def inputs(padded: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, segments and padding mask, without tokens 0 and 1, one of which is their frozen padding row."""
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(2, 50, (len(ROWS), LENGTH), generator=generator)
    segments = torch.randint(2, tokens.shape, generator=generator)
    ends = torch.tensor(ROWS if padded else [LENGTH] * len(ROWS))
    return tokens, segments, torch.arange(LENGTH) < ends[:, None]


def gradients(answers: tuple[Tensor, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Return the gradients of a random sum of hidden states and logits, by each model's parameter names."""
    generator = torch.Generator().manual_seed(3)
    total = torch.zeros((), dtype=answers[0].dtype)
    for each in answers:
        total = total + (each * torch.randn(each.shape, generator=generator).to(each.dtype)).sum()
    model.zero_grad()
    total.backward()
    return {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
@torch.no_grad()
def test_hidden_states_and_logits_equal_those_of_transformers(name: str, dtype: torch.dtype, padded: bool) -> None:
    pair = with_same_weights(MODELS[name](), dtype)
    found, expected = pair.hidden_and_logits(*inputs(padded)), pair.their_hidden_and_logits(*inputs(padded))
    assert all(distance(*each) <= LARGEST[dtype] for each in zip(found, expected, strict=True))


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
def test_every_gradient_equals_that_of_transformers(name: str, dtype: torch.dtype, padded: bool) -> None:
    """Each parameter and the input embeddings; the tied table has gradients of both uses."""
    pair = with_same_weights(MODELS[name](), dtype)
    ours, theirs = (gradients_at(embeddings) for embeddings in pair.embeddings())
    found = gradients(pair.hidden_and_logits(*inputs(padded)), pair.ours)
    expected = pair.as_ours(gradients(pair.their_hidden_and_logits(*inputs(padded)), pair.theirs))
    assert found.keys() == expected.keys() == pair.twins().keys()
    far = {name: distance(found[name], expected[name]) for name in expected}
    far["input embeddings"] = distance(ours[0], theirs[0])
    assert theirs[0].abs().max() > 0.1
    assert not {name: each for name, each in far.items() if each > LARGEST[dtype]}


def gradients_at(module: nn.Module) -> list[Tensor]:
    """Return a list that will hold the gradient of the module's output."""
    seen: list[Tensor] = []

    def listen(_: nn.Module, __: object, out: Tensor) -> None:
        out.register_hook(seen.append)

    module.register_forward_hook(listen)
    return seen


@torch.no_grad()
def test_a_change_of_any_weight_is_detected(name: str) -> None:
    """The comparison can fail for every tensor except a key's bias, which does not affect softmax."""
    pair = with_same_weights(MODELS[name](), torch.float32)
    expected = pair.their_hidden_and_logits(*inputs())
    for twin in nudged(pair.twins().items()):
        found = pair.hidden_and_logits(*inputs())
        far = max(distance(*each) for each in zip(found, expected, strict=True))
        assert (far > LARGEST[torch.float32]) == (not twin.endswith("attention.key.bias")), twin


@torch.no_grad()
def test_padding_leaks_in_transformers_only() -> None:
    """Without `as_released` a padded batch differs, and one without padding does not."""
    pair: Pair = with_same_weights(conv_bert(1), torch.float32)
    for padded in (False, True):
        found, expected = pair.hidden_and_logits(*inputs(padded))[0], pair.their_hidden_and_logits(*inputs(padded))[0]
        assert (distance(found, expected) > 1e-3) == padded
