"""Decoding by a [MASK] behind the tokens so far: caches change no token, and the source is read whole."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from search_space.architecture import Architecture
from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.encoder import Encoder
from steeplechase.models.generation.decoding import cloze_decoding
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from steeplechase.models.initialisation import initialise
from steeplechase.models.visible_tokens import visible_tokens
from tests.factories.small_experiments import stir

MASK, END, SOURCE, SEGMENTS = 4, 3, 6, (4, 5)
VISIBILITIES = ("bidirectional", "prefix")
SIZES: dict[str, Any] = {
    "depth": 2, "width": 16, "embedding_width": 12, "heads": 2, "feed_forward_width": 24, "positions": 40,
    "segments": 6, "vocabulary_size": 20,
}  # fmt: skip


def stack(**changes: Any) -> Encoder:
    encoder = Encoder(Architecture.model_validate({**SIZES, **changes}), 0.0)
    initialise(encoder, 1)
    encoder.double().eval()
    stir(encoder)
    with torch.no_grad():  # so that tokens and the source, and not biases, decide
        for parameter in encoder.parameters():
            parameter.mul_(3 if parameter.ndim > 1 else 1)
    return encoder


def logits(encoder: Encoder) -> Any:
    weights = torch.randn(16, 20, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return lambda x: x @ weights


def sources() -> Tensor:
    return torch.randint(5, 20, (3, SOURCE), generator=torch.Generator().manual_seed(6))


@pytest.mark.parametrize("visibility", VISIBILITIES)
@pytest.mark.parametrize(
    ("beams", "position", "segments"),
    [(1, "learned", None), (3, "learned", SEGMENTS), (1, "rotary", None), (3, "relative", SEGMENTS)],
)
def test_caches_change_no_token(beams: int, position: str, segments: tuple[int, int] | None, visibility: str) -> None:
    encoder = stack(visibility=visibility, position={"kind": position})
    settings = SearchSettings(END, 8, beams, forbidden=(0, 2, MASK))
    found = []
    for cached in (True, False):
        decoding = cloze_decoding(encoder, logits(encoder), MASK, segments, cached=cached)
        search = greedy_search if beams == 1 else beam_search
        found.append(search(decoding, sources(), settings))
    one, other = found
    assert [each.tokens for each in one] == [each.tokens for each in other]
    assert one[0].log_probability == pytest.approx(other[0].log_probability, abs=1e-5)
    assert len({each.tokens for each in one}) > 1, "the sources must matter"


@pytest.mark.parametrize("visibility", VISIBILITIES)
@torch.no_grad()
def test_the_next_token_is_that_of_a_mask_behind_the_prefix(visibility: str) -> None:
    """Against one pass over source, target so far and [MASK], with UNILM's mask of attention."""
    encoder, source = stack(visibility=visibility), sources()
    decoding = cloze_decoding(encoder, logits(encoder), MASK, SEGMENTS)
    decoding.advance(source)
    target = torch.tensor([[7, 9], [8, 8], [6, 10]])
    decoding.advance(target[:, :1])
    found = decoding.advance(target[:, 1:])
    whole = torch.cat([source, target, torch.full((3, 1), MASK)], 1)
    segments = torch.tensor([4] * SOURCE + [5] * 3).expand(3, -1)
    visible = visible_tokens(["prefix"] * 3, SOURCE + 3, SOURCE, torch.device("cpu"))
    states = encoder.read(whole, segments, None, AttentionContext(visible=visible))
    expected = log_softmax(logits(encoder)(states[:, -1]), -1)
    assert (found - expected).abs().max() < 1e-5
    leaking = stack().read(whole, segments, None, AttentionContext())
    assert (log_softmax(logits(encoder)(leaking[:, -1]), -1) - expected).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"visibility": "left_to_right"}, "reads no source whole"),
        ({"convolution": {"kind": "span_dynamic"}}, "need attention alone"),
        ({"layers": "r s f"}, "need attention alone"),
    ],
)
def test_a_stack_that_cannot_is_refused(changes: dict[str, Any], message: str) -> None:
    encoder = Encoder(Architecture.model_validate({**SIZES, **changes}), 0.0)
    with pytest.raises(ValueError, match=message):
        cloze_decoding(encoder, logits(encoder), MASK)
