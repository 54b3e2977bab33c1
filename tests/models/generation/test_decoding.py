"""Incremental decoding equals one pass over all tokens so far, for every decoder and for stacks of one direction."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from steeplechase.models.encoder import Encoder
from steeplechase.models.generation.decoding import stack_decoding, target_decoding
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.initialisation import initialise
from tests.factories.encoder_decoders import CHANGES, architecture, built, tokens
from tests.factories.small_experiments import stir

LONGEST, END, START = 8, 3, 2
SEARCHES = {"greedy": SearchSettings(END, LONGEST), "beam": SearchSettings(END, LONGEST, beams=4, length_penalty=0.6)}
STACKS: dict[str, dict[str, Any]] = {
    "gpt": {},
    "convolution": {"convolution": {"kind": "span_dynamic", "kernel_size": 3, "window": "look_back"}},
    "recurrent": {"layers": "r s f g"},
    "shared": {"sharing": "all", "embedding_width": 16},
    "pre_norm": {"normalisation": {"kind": "pre_norm"}, "position": {"kind": "sinusoidal"}},
}
"""Stacks that read from left to right, by name."""


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", CHANGES)
@torch.no_grad()
def test_a_target_is_the_same_with_and_without_caches(kind: str, search: str) -> None:
    model, settings = built(architecture(kind)), SEARCHES[search]
    mask = torch.arange(12) < torch.tensor([7, 12, 1])[:, None]
    source, prompt = model.encode(tokens(1), mask), torch.full((3, 1), START)
    find = greedy_search if settings.beams == 1 else beam_search
    cached, whole = (
        find(target_decoding(model, source, settings.beams, cached=each), prompt, settings) for each in (True, False)
    )
    assert [each.tokens for each in cached] == [each.tokens for each in whole]
    for one, other in zip(cached, whole, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def stack(name: str) -> tuple[Encoder, nn.Module]:
    """Return a stack that reads from left to right, and its vocabulary head."""
    sizes = {"depth": 2, "width": 32, "heads": 4, "feed_forward_width": 48, "vocabulary_size": 40, "positions": 24}
    own = {"embedding_width": 32, "segments": 0, **sizes, **STACKS[name]}
    declared = Architecture.model_validate({"visibility": "left_to_right", **own})
    assert not list(declared.violations())
    encoder = Encoder(declared, 0.0)
    model = nn.ModuleDict({"encoder": encoder, "head": MaskedLanguageModelHead(declared)})
    initialise(model, 3)
    stir(model)
    return encoder, model.eval()["head"]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", STACKS)
@torch.no_grad()
def test_a_stack_continues_a_text_the_same_with_and_without_caches(name: str, search: str) -> None:
    encoder, head = stack(name)
    settings, prompt = SEARCHES[search], tokens(1, 3, 5)

    def logits(x: Tensor) -> Tensor:
        found: Tensor = head(x, encoder.embeddings.tokens.weight)
        return found

    find = greedy_search if settings.beams == 1 else beam_search
    cached, whole = (find(stack_decoding(encoder, logits, cached=each), prompt, settings) for each in (True, False))
    assert [each.tokens for each in cached] == [each.tokens for each in whole]


@torch.no_grad()
def test_a_stack_decodes_what_its_forward_pass_predicts() -> None:
    """The uncached path is the encoder's own, so that both paths are held to the model that was trained."""
    encoder, head = stack("gpt")
    text = tokens(1, 2, 9)
    expected = head(encoder(text)[:, -1], encoder.embeddings.tokens.weight).log_softmax(-1)
    decoding = stack_decoding(encoder, lambda x: head(x, encoder.embeddings.tokens.weight))
    for place in range(8):
        decoding.advance(text[:, place : place + 1])
    assert (decoding.advance(text[:, 8:]) - expected).abs().max() < 1e-5


def test_a_stack_that_reads_both_directions_is_refused() -> None:
    encoder = Encoder(Architecture(depth=1, width=16, embedding_width=16, heads=2, vocabulary_size=9), 0.0)
    with pytest.raises(ValueError, match="a bidirectional stack cannot generate; visibility left_to_right"):
        stack_decoding(encoder, lambda x: x)


@torch.no_grad()
def test_reordered_rows_continue_with_their_own_past() -> None:
    model = built(architecture())
    source = model.encode(tokens(1, 1))
    source = source.rows(torch.zeros(4, dtype=torch.long))
    decoding = target_decoding(model, source)
    decoding.advance(tokens(2, 4, 3))
    order = torch.tensor([2, 2, 0, 3])
    decoding.reorder(order)
    found = decoding.advance(tokens(4, 4, 1))
    fresh = target_decoding(model, source)
    expected = fresh.advance(torch.cat([tokens(2, 4, 3)[order], tokens(4, 4, 1)], 1))
    assert (found - expected).abs().max() < 1e-5
