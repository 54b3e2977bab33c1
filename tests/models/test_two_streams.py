"""Two streams of attention in a drawn order: who reads whom, likelihoods, and parity with transformers' XLNet."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from steeplechase.models.attention_context import AttentionContext, PredictionOrder
from steeplechase.models.encoder import Encoder
from steeplechase.models.segment_memory import SegmentMemory, Streams, read_streams
from tests.factories.huggingface_bodies import BODIES, VOCABULARY, Body, xlnet
from tests.factories.parity import LARGEST, dependence, distance, nudged
from tests.factories.sublayers import stirred_encoder

SIZES: dict[str, Any] = {
    "depth": 2, "width": 8, "embedding_width": 8, "heads": 2, "feed_forward_width": 12, "vocabulary_size": 40,
    "position": {"kind": "relative", "segment_encodings": True}, "segments": 0, "visibility": "permutation",
    "attention_biases": False, "normalisation": {"kind": "post_norm", "embedding": False},
}  # fmt: skip
KINDS = pytest.mark.parametrize("position", [SIZES["position"], "rotary", "alibi"], ids=str)
LENGTH, MEMORY = 12, 5
TARGETS = (3, 9, 4, 0, 11)
"""In the order of their prediction."""


def built(**fields: Any) -> Encoder:
    return stirred_encoder({**SIZES, **fields})


def order_of(targets: tuple[int, ...] = TARGETS, length: int = LENGTH, rows: int = 1) -> PredictionOrder:
    ranks = torch.zeros(rows, length, dtype=torch.long)
    ranks[:, list(targets)] = torch.arange(1, len(targets) + 1)
    return PredictionOrder(ranks, torch.tensor([targets]).expand(rows, -1))


def tokens(length: int = LENGTH, rows: int = 1, seed: int = 1) -> Tensor:
    return torch.randint(5, 40, (rows, length), generator=torch.Generator().manual_seed(seed))


def segments(rows: int = 1) -> Tensor:
    return (torch.arange(LENGTH) >= 7).long().expand(rows, -1)


def memory_of(encoder: Encoder, rows: int, tokens: int = MEMORY) -> SegmentMemory:
    empty = SegmentMemory.empty(encoder, rows, tokens)
    drawn = torch.randn(empty.states.shape, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    return SegmentMemory(drawn.to(encoder.embeddings.tokens.weight.dtype), torch.ones_like(empty.valid))


def gradients(
    encoder: Encoder, context: AttentionContext, padding_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the size of every gradient of both streams' outputs by a token's embedding [outputs inputs]."""

    def read(stream: str) -> Tensor:
        found: Tensor = getattr(read_streams(encoder, tokens(), context, padding_mask), stream)
        return found

    content, query = (dependence(encoder, partial(read, stream))[0] for stream in ("content", "query"))
    return content, query


@KINDS
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_no_output_has_a_gradient_of_a_token_that_its_order_hides(
    padded: bool, backwards: bool, position: object
) -> None:
    """Over all pairs: the query stream reads what was before, the content stream its own token too."""
    real = torch.arange(LENGTH)[None] < (11 if padded else LENGTH)
    targets = tuple(each for each in TARGETS if each < (11 if padded else LENGTH))
    rank = {target: number for number, target in enumerate(targets, 1)}
    order, direction = order_of(targets), torch.tensor([backwards])
    context = AttentionContext(order=order, segments=segments(), backwards=direction)
    content, query = gradients(built(position=position), context, real if padded else None)
    for j in range(LENGTH):
        visible = bool(real[0, j])
        for i in range(LENGTH):
            expected = visible and rank.get(j, 0) <= rank.get(i, 0)
            assert (content[i, j] > 0) == (expected or i == j), (i, j)
        for number, target in enumerate(targets):
            assert (query[number, j] > 0) == (visible and rank.get(j, 0) < rank[target]), (target, j)


@KINDS
@torch.no_grad()
def test_an_order_from_left_to_right_is_a_causal_language_model(position: object) -> None:
    """The content stream is that of a causal encoder with equal weights; a query predicts from the tokens before."""
    encoder, causal = built(position=position), built(visibility="left_to_right", position=position)
    causal.load_state_dict({name: value for name, value in encoder.state_dict().items() if "query_start" not in name})
    row = tokens(rows=2)
    ranks = torch.arange(LENGTH).expand(2, -1)
    streams = read_streams(encoder, row, AttentionContext(order=PredictionOrder(ranks, ranks[:, 1:])))
    assert (streams.content - causal(row)).abs().max() < 1e-12
    for place in range(1, LENGTH):  # from sequences that end with the asked token, whatever it is
        other = row[:, : place + 1].clone()
        other[:, place] = (row[:, place] + 1) % 35 + 5
        own = PredictionOrder(ranks[:, : place + 1], ranks[:, place : place + 1])
        alone = read_streams(encoder, other, AttentionContext(order=own)).query[:, 0]
        assert (alone - streams.query[:, place - 1]).abs().max() < 1e-12


def pair(dtype: torch.dtype, both_directions: bool) -> tuple[Any, Encoder]:
    theirs, ours = Body(
        lambda: xlnet(bi_data=both_directions), BODIES["XLNetModel"].architecture, BODIES["XLNetModel"].names
    ).pair(dtype)
    return theirs, ours


def both(theirs: Any, ours: Encoder, both_directions: bool) -> tuple[Streams, Tensor, Tensor]:
    """Return our streams, their content and their query stream, with memory, segments and an order per row."""
    random = torch.Generator().manual_seed(4)
    row = torch.randint(VOCABULARY, (4, LENGTH), generator=random)
    drawn = torch.stack([torch.randperm(LENGTH, generator=random)[:5] for _ in row])
    ranks = torch.zeros(4, LENGTH, dtype=torch.long).scatter(1, drawn, torch.arange(1, 6).expand(4, -1))
    read, memory = torch.randint(2, row.shape, generator=random), memory_of(ours, 4)
    hides = (ranks[:, :, None] <= ranks[:, None, :]) & (ranks[:, None, :] > 0)
    dtype = ours.embeddings.tokens.weight.dtype
    expected = theirs(
        input_ids=row,
        token_type_ids=read,
        perm_mask=hides.to(dtype),
        target_mapping=nn.functional.one_hot(drawn, LENGTH).to(dtype),
        mems=[*memory.states.transpose(1, 2)],
        use_mems=True,
        output_hidden_states=True,
    )
    backwards = torch.arange(4) >= 2 if both_directions else None
    context = AttentionContext(order=PredictionOrder(ranks, drawn), segments=read, backwards=backwards)
    return read_streams(ours, row, context, memory=memory), expected.hidden_states[-2], expected[0]


@pytest.mark.parametrize("both_directions", [False, True])
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
@torch.no_grad()
def test_both_streams_equal_those_of_transformers(dtype: torch.dtype, both_directions: bool) -> None:
    streams, content, query = both(*pair(dtype, both_directions), both_directions)
    assert distance(streams.content, content) <= LARGEST[dtype]
    assert distance(streams.query, query) <= LARGEST[dtype]


@torch.no_grad()
def test_a_change_of_any_weight_is_detected() -> None:
    theirs, ours = pair(torch.float32, True)
    for name in nudged(ours.named_parameters()):
        streams, _, query = both(theirs, ours, True)
        assert distance(streams.query, query) > LARGEST[torch.float32], name
    assert distance(both(theirs, ours, False)[0].query, both(theirs, ours, True)[2]) > 1e-3, "directions are seen"


@torch.no_grad()
def test_a_memory_of_nothing_is_no_memory_and_no_gradient_enters_one() -> None:
    encoder, context = built(memory=MEMORY), AttentionContext(order=order_of(), segments=segments())
    empty = SegmentMemory.empty(encoder, 1, MEMORY)
    empty = SegmentMemory(empty.states.double(), empty.valid)
    plain, after_nothing = (read_streams(encoder, tokens(), context, memory=each) for each in (None, empty))
    assert (plain.query - after_nothing.query).abs().max() < 1e-12
    after_text = read_streams(encoder, tokens(), context, memory=memory_of(encoder, 1))
    assert (plain.query - after_text.query).abs().max() > 1e-3
    with torch.enable_grad():
        streams = read_streams(encoder, tokens(), context)
        assert streams.inputs.requires_grad
        assert not memory_of(encoder, 1).after(streams.inputs).states.requires_grad


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"normalisation": {"kind": "pre_norm"}}, "permutation needs post_norm, not pre_norm"),
        ({"layers": "s f r"}, "r knows no order of prediction; allowed sublayers: s, f and g"),
        ({"convolution": {"kind": "depthwise", "kernel_size": 3}}, "the convolution depthwise knows no order"),
    ],
)
def test_what_a_drawn_order_needs_is_one_line(fields: dict[str, Any], message: str) -> None:
    sizes = {name: value for name, value in SIZES.items() if "layers" not in fields or name != "depth"}
    (violation,) = Architecture.model_validate({**sizes, **fields}).violations()
    assert violation.path == ("visibility",)
    assert violation.message.startswith(message)
