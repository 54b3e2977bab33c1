"""Relative positions and the memory of earlier segments, against loops over the paper's equations."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.architecture import Architecture
from search_space.sublayer.attention import SelfAttention
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.continuation import continuation_of
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.segment_memory import KeptMemory, SegmentMemory, read_segment
from tests.factories.parity import nudged
from tests.factories.small_experiments import stir
from tests.factories.sublayers import stirred_encoder

LARGEST = 1e-10
SIZES: dict[str, Any] = {
    "depth": 2, "width": 8, "embedding_width": 8, "heads": 2, "feed_forward_width": 12, "vocabulary_size": 40,
    "position": {"kind": "relative"}, "segments": 0, "visibility": "left_to_right", "attention_biases": False,
    "feed_forward_activation": "relu", "normalisation": {"kind": "post_norm", "embedding": False, "epsilon": 1e-5},
}  # fmt: skip


def built(**fields: Any) -> Encoder:
    return stirred_encoder({**SIZES, **fields}, seed=1)


def tokens(length: int, rows: int = 1, seed: int = 1) -> Tensor:
    return torch.randint(5, 40, (rows, length), generator=torch.Generator().manual_seed(seed))


def sinusoid(distance: int, width: int) -> Tensor:
    rates = [10_000 ** (-2 * pair / width) for pair in range(width // 2)]
    return torch.tensor(
        [math.sin(distance * rate) for rate in rates] + [math.cos(distance * rate) for rate in rates],
        dtype=torch.float64,
    )


def by_the_equations(
    encoder: Encoder, row: Tensor, clamp: int | None = None, weights: dict[str, Tensor] | None = None
) -> Tensor:
    """Return the output for one row: Dai et al. 2019, section 3.3, pair by pair; blocks are post-norm."""
    given = weights or dict(encoder.named_parameters())
    architecture = encoder.architecture
    heads, size, width = architecture.heads, architecture.width // architecture.heads, architecture.width
    x = given["embeddings.tokens.weight"][row]

    def norm(y: Tensor, name: str) -> Tensor:
        centred = y - y.mean(-1, keepdim=True)
        scaled = centred / (y.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        return scaled * given[f"{name}.weight"] + given[f"{name}.bias"]

    for number in range(architecture.depth):
        at = f"blocks.{number}"
        q, k, v = (
            (x @ given[f"{at}.attention.{name}.weight"].T).view(-1, heads, size) for name in ("query", "key", "value")
        )
        u = given[f"{at}.attention.relative.content_bias"][:, 0]
        w = given[f"{at}.attention.relative.position_bias"][:, 0]
        rows = []
        for i in range(len(row)):
            scores = torch.empty(heads, i + 1, dtype=x.dtype)
            for j in range(i + 1):
                distance = i - j if clamp is None else min(i - j, clamp)
                r = (given[f"{at}.attention.relative.map.weight"] @ sinusoid(distance, width)).view(heads, size)
                scores[:, j] = (((q[i] + u) * k[j]).sum(-1) + ((q[i] + w) * r).sum(-1)) / math.sqrt(size)
            rows.append((scores.softmax(-1)[..., None] * v[: i + 1].transpose(0, 1)).sum(1).flatten())
        x = norm(x + torch.stack(rows) @ given[f"{at}.attention.output.weight"].T, f"{at}.attention_norm")
        up = (x @ given[f"{at}.feed_forward.up.weight"].T + given[f"{at}.feed_forward.up.bias"]).relu()
        down = up @ given[f"{at}.feed_forward.down.weight"].T + given[f"{at}.feed_forward.down.bias"]
        x = norm(x + down, f"{at}.feed_forward_norm")
    return x


@pytest.mark.parametrize("clamp", [None, 3])
@torch.no_grad()
def test_the_encoder_equals_the_papers_equations_and_a_change_of_any_weight_is_noticed(clamp: int | None) -> None:
    encoder = built(position={"kind": "relative", "clamp": clamp})
    row = tokens(9)[0]
    expected = by_the_equations(encoder, row, clamp)
    assert (encoder(row[None])[0] - expected).abs().max() < LARGEST
    for name in nudged(encoder.named_parameters()):
        assert (encoder(row[None])[0] - expected).abs().max() > 1e-5, name
    assert (by_the_equations(encoder, row, 1) - expected).abs().max() > 1e-3, "the clamp is seen"


@pytest.mark.parametrize("kind", ["relative", "rotary", "alibi"])
@pytest.mark.parametrize("visibility", ["bidirectional", "left_to_right"])
@torch.no_grad()
def test_positions_are_relative_so_that_padding_before_changes_nothing(visibility: str, kind: str) -> None:
    """A row that is moved to the right by hidden tokens has the same outputs."""
    encoder = built(visibility=visibility, position={"kind": kind})
    row = tokens(6)
    moved = torch.cat([tokens(4, seed=2), row], 1)
    real = (torch.arange(10) >= 4)[None]
    assert (encoder(moved, None, real)[:, 4:] - encoder(row)).abs().max() < LARGEST
    swapped = [0, 2, 1, 3, 4, 5]
    assert (encoder(row[:, swapped])[:, swapped] - encoder(row)).abs().max() > 1e-3, "the order is seen"


def in_segments(encoder: Encoder, row: Tensor, length: int, memory: int) -> Tensor:
    kept, found = SegmentMemory.empty(encoder, len(row), memory), []
    for segment in row.split(length, 1):
        hidden, kept = read_segment(encoder, segment, kept)
        found.append(hidden)
    return torch.cat(found, 1)


@pytest.mark.parametrize("length", [1, 4, 5])
@torch.no_grad()
def test_segment_by_segment_with_a_whole_memory_equals_one_pass(length: int) -> None:
    encoder = built(memory=16)
    encoder.embeddings.tokens.weight.data = encoder.embeddings.tokens.weight.data.double()
    row = tokens(13, rows=2)
    kept = SegmentMemory.empty(encoder, 2, 16)
    assert kept.states.shape == (2, 2, 16, 8)
    in_double = SegmentMemory(kept.states.double(), kept.valid)
    found = []
    for segment in row.split(length, 1):
        hidden, in_double = read_segment(encoder, segment, in_double)
        found.append(hidden)
    assert (torch.cat(found, 1) - encoder(row)).abs().max() < LARGEST
    assert (in_segments(encoder, row, 4, 2) - encoder(row)).abs().max() > 1e-3, "a short memory is seen"


def test_the_reach_is_the_layers_times_the_memory_and_no_gradient_enters_it() -> None:
    """Segments of 3, a memory of 3, two layers: what is more than 2 x 3 tokens before a segment has no effect."""
    encoder, row = built(memory=3), tokens(12)
    changed = row.clone()
    with torch.no_grad():
        for place in range(12):
            changed.copy_(row)
            changed[0, place] = (row[0, place] + 1) % 35 + 5
            difference = (in_segments(encoder, changed, 3, 3) - in_segments(encoder, row, 3, 3)).abs()[0, 9:].sum()
            assert (difference == 0) == (place < 9 - 2 * 3), place
    memory = SegmentMemory.empty(encoder, 1, 3)
    _, memory = read_segment(encoder, row[:, :3], memory)
    assert not memory.states.requires_grad
    hidden, _ = read_segment(encoder, row[:, 3:6], memory)
    hidden.sum().backward()
    first_alone = [token for token in row[0, :3].tolist() if token not in row[0, 3:6].tolist()]
    gradient = encoder.embeddings.tokens.weight.grad
    assert gradient is not None
    assert not gradient[first_alone].any()


@torch.no_grad()
def test_a_row_that_does_not_continue_begins_with_an_empty_memory() -> None:
    encoder = built(memory=4).float()
    kept = KeptMemory(encoder, 2)
    numbers = torch.tensor([5, 9])
    first, memory = read_segment(encoder, tokens(4, rows=2), kept.before(numbers))
    kept.keep(numbers, memory)
    second, _ = read_segment(encoder, tokens(4, rows=2), kept.before(torch.tensor([6, 3])))
    assert torch.allclose(second[1], first[1])
    assert not torch.allclose(second[0], first[0], atol=1e-3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"position": {"kind": "learned"}}, "4 tokens of memory need relative positions, not learned"),
        ({"visibility": "right_to_left"}, "a memory is of the text before; visibility is right_to_left"),
        ({"normalisation": {"kind": "pre_norm"}}, "a memory needs post_norm, not pre_norm"),
        ({"layers": "s f r", "depth": 3}, "r reads no memory; allowed sublayers: s, f and g"),
    ],
)
def test_what_a_memory_needs_is_one_line(fields: dict[str, Any], message: str) -> None:
    sizes = {name: value for name, value in SIZES.items() if "layers" not in fields or name != "depth"}
    architecture = Architecture.model_validate(
        {**sizes, "memory": 4, **{k: v for k, v in fields.items() if k != "depth"}}
    )
    (violation,) = architecture.violations()
    assert violation.path == ("memory",)
    assert violation.message.startswith(message)


@pytest.mark.parametrize("kind", ["relative", "clipped_relative", "rotary", "alibi"])
@torch.no_grad()
def test_positions_one_by_one_equal_one_pass(kind: str) -> None:
    """Incremental decoding: each new token with what the sublayer kept of those before."""
    encoder = built(depth=1, position={"kind": kind})
    row = torch.randn(2, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    attention = encoder.blocks[0].get_submodule("attention")
    continued = continuation_of(attention, None)
    found = [continued(row[:, place : place + 1]) for place in range(5)]
    assert (torch.cat(found, 1) - attention(row)).abs().max() < LARGEST


def test_clipped_positions_are_the_papers_equation() -> None:
    """Shaw et al. 2018, eq. 4, by a loop over pairs, with keys of a memory and in both directions of reading."""
    for visibility, keys in (("left_to_right", 9), ("bidirectional", 6)):
        architecture = Architecture.model_validate(
            {**SIZES, "depth": 1, "visibility": visibility, "position": {"kind": "clipped_relative", "clip": 3}}
        )
        (attention,) = (each for each in architecture.blocks[0] if isinstance(each, SelfAttention))
        scores = module_of(attention.position).build_scores(attention)
        assert scores is not None
        initialise(scores, 1)
        stir(scores)
        vectors, query = scores.get_parameter("vectors"), torch.randn(2, 2, 6, 4)
        same, _, found = scores(query, torch.zeros(2, 2, keys, 4))
        assert torch.equal(same, query)
        for i in range(6):
            for j in range(keys):
                distance = i + keys - 6 - j
                if distance < 0 and visibility == "left_to_right":
                    continue
                row = max(-3, min(3, distance)) + (3 if visibility == "bidirectional" else 0)
                expected = (query[:, :, i] * vectors[row]).sum(-1) / 2
                assert (found[:, :, i, j] - expected).abs().max() < 1e-5


@pytest.mark.parametrize("position", [{"kind": "clipped_relative", "clip": 3}, {"kind": "rotary"}, {"kind": "alibi"}])
@torch.no_grad()
def test_positions_in_attention_with_a_whole_memory_equal_one_pass(position: dict[str, Any]) -> None:
    encoder = built(memory=16, position=position).float()
    row = tokens(13, rows=2)
    for length in (1, 4):
        assert (in_segments(encoder, row, length, 16) - encoder(row)).abs().max() < 1e-5


def scores_of(position: dict[str, Any], heads: int = 2, width: int = 16) -> torch.nn.Module:
    architecture = Architecture.model_validate({**SIZES, "width": width, "heads": heads, "position": position})
    assert [*architecture.violations()] == []
    (attention,) = (each for each in architecture.blocks[0] if isinstance(each, SelfAttention))
    scores: torch.nn.Module = module_of(attention.position).build_scores(attention)
    return scores


@pytest.mark.parametrize(("share", "base"), [(1.0, 10_000.0), (1.0, 160_000.0), (0.5, 100.0)])
def test_rotary_positions_are_those_of_transformers(share: float, base: float) -> None:
    """GPT-NeoX and ModernBERT of transformers turn the same pairs by the same angles."""
    from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

    q, k = torch.randn(2, 2, 3, 9, 8, generator=torch.Generator().manual_seed(2))
    turned = int(share * 8)
    rates = 1.0 / (base ** (torch.arange(0, turned, 2).float() / turned))
    angles = torch.cat([torch.arange(9.0)[:, None] * rates] * 2, -1)[None]
    expected = apply_rotary_pos_emb(q[..., :turned], k[..., :turned], angles.cos(), angles.sin())
    found_q, found_k, terms = scores_of({"kind": "rotary", "share": share, "base": base})(q, k)
    assert terms is None
    for found, given, other in ((found_q, q, expected[0]), (found_k, k, expected[1])):
        assert torch.allclose(found[..., :turned], other, atol=1e-6)
        assert torch.equal(found[..., turned:], given[..., turned:])


@pytest.mark.parametrize(("heads", "first"), [(8, 1 / 2), (4, 1 / 4), (6, 1 / 4)])
def test_linear_biases_are_the_papers(heads: int, first: float) -> None:
    """Press et al. 2021, section 3: slopes are a geometric sequence from 2^(-8 / heads) of powers of two."""
    _, _, found = scores_of({"kind": "alibi"}, heads, 24)(torch.zeros(1, heads, 3, 4), torch.zeros(1, heads, 5, 4))
    slopes = [first ** (number + 1) for number in range(min(heads, 4))] + ([0.5, 0.125] if heads == 6 else [])
    for number, slope in enumerate(slopes):
        expected = torch.tensor([[-slope * abs(i + 2 - j) for j in range(5)] for i in range(3)])
        assert torch.allclose(found[0, number], expected)


def test_a_head_without_a_pair_of_channels_is_refused() -> None:
    position = {"kind": "rotary", "share": 0.25}
    (violation,) = Architecture.model_validate({**SIZES, "position": position}).violations()
    assert violation.path == ("position",)
    assert violation.message == "share 0.25 of the 4 channels of a head is no pair; the least is a share of 0.5"


@pytest.mark.parametrize("visibility", ["left_to_right", "bidirectional"])
@pytest.mark.parametrize("kind", ["relative", "clipped_relative", "rotary", "alibi"])
def test_costs_are_those_of_the_built_encoder(kind: str, visibility: str) -> None:
    encoder = built(position={"kind": kind}, visibility=visibility, attention_biases=True)
    assert sum(each.numel() for each in encoder.parameters()) == encoder.architecture.parameters
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        encoder(tokens(16))
    products = sum(part.copies * part.operations.multiply_adds for part in encoder.architecture.parts(16))
    assert 2 * 16 * products == counter.get_total_flops()
