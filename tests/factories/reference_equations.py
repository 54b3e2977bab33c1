"""The encoder once more, slowly: loops over sequences, positions, heads and taps, as the equations are printed.

Jiang et al. 2020, arXiv 2008.02496 (equations 1 to 8, figure 3); Vaswani et al. 2017 for attention. A token is a
vector, a sequence a list of tokens, and nothing here slides, unfolds or masks: a tap that falls outside the
sequence is left out of its sum. Weights come under the names that they have in our modules.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.convolution import Convolution
from search_space.convolution.kernel import WithKernel, WithValue

Weights = Mapping[str, Tensor]
Tokens = list[Tensor]
Inside = Sequence[bool]  # which places count as part of the sequence


def encoder(weights: Weights, tokens: Tensor, segments: Tensor, padding_mask: Tensor, sizes: Architecture) -> Tensor:
    """Return the encoder's output: embeddings, a projection where the widths differ, then the blocks."""
    rows = []
    for row in range(len(tokens)):
        x = embedded(within(weights, "embeddings"), tokens[row].tolist(), segments[row].tolist())
        if sizes.embedding_width != sizes.width:
            x = [affine(weights, "projection", token) for token in x]
        for layer in range(sizes.depth):
            x = block(within(weights, f"blocks.{layer}"), x, padding_mask[row].tolist(), sizes)
        rows.append(torch.stack(x))
    return torch.stack(rows)


def embedded(weights: Weights, words: Sequence[int], segments: Sequence[int]) -> Tokens:
    """Word, place and segment, added and normalised."""
    tables = [weights[f"{name}.weight"] for name in ("tokens", "positions", "segments")]
    return [
        normalised(weights, "norm", tables[0][word] + tables[1][place] + tables[2][segment])
        for place, (word, segment) in enumerate(zip(words, segments, strict=True))
    ]


def block(weights: Weights, x: Tokens, inside: Inside, sizes: Architecture) -> Tokens:
    """Mixed attention and feed-forward network, each added to its input and the sum normalised."""
    heads, groups = round(sizes.heads / Fraction(str(sizes.bottleneck_ratio))), sizes.feed_forward_groups
    mixed = mixed_attention(within(weights, "attention"), x, inside, heads, sizes.convolution)
    x = [normalised(weights, "attention_norm", old + new) for old, new in zip(x, mixed, strict=True)]
    fed = [feed_forward(within(weights, "feed_forward"), token, groups) for token in x]
    return [normalised(weights, "feed_forward_norm", old + new) for old, new in zip(x, fed, strict=True)]


def mixed_attention(weights: Weights, x: Tokens, inside: Inside, heads: int, option: Convolution) -> Tokens:
    """Figure 3: the attention heads and the branch's heads side by side, then one map back to the width."""
    query, key, value = ([affine(weights, name, token) for token in x] for name in ("query", "key", "value"))
    contexts = attention(query, key, value, inside, heads)
    if isinstance(option, WithKernel):
        branch = within(weights, "branch")
        if isinstance(option, WithValue) and option.value == "own":
            value = [affine(branch, "value", token) for token in x]
        if getattr(option, "padding", "masked") == "as_released":
            inside = [True] * len(x)
        added = BRANCHES[option.kind](branch, x, query, value, inside, heads, option.kernel_size)
        contexts = [torch.cat(pair) for pair in zip(contexts, added, strict=True)]
    return [affine(weights, "output", context) for context in contexts]


def attention(query: Tokens, key: Tokens, value: Tokens, inside: Inside, heads: int) -> Tokens:
    """Equation 1, per head: softmax(q·k / √d) over all tokens inside, times their values."""
    contexts = []
    for q in query:
        parts = []
        for head in range(heads):
            seen = [
                (part(k, head, heads), part(v, head, heads))
                for k, v, is_inside in zip(key, value, inside, strict=True)
                if is_inside
            ]
            root = math.sqrt(len(q) // heads)
            shares = softmax(torch.stack([(part(q, head, heads) * k).sum() / root for k, _ in seen]))
            parts.append(total(share * v for share, (_, v) in zip(shares, seen, strict=True)))
        contexts.append(torch.cat(parts))
    return contexts


def depthwise(
    weights: Weights, x: Tokens, query: Tokens, value: Tokens, inside: Inside, heads: int, kernel_size: int
) -> Tokens:
    """Equation 2 and a map across channels: a kernel per channel, the same at every position."""
    return separable(within(weights, "convolution"), x, inside, kernel_size)


def lightweight(
    weights: Weights, x: Tokens, query: Tokens, value: Tokens, inside: Inside, heads: int, kernel_size: int
) -> Tokens:
    """Equation 3 with one learned kernel per head; the kernels are stored tap by tap."""
    kernels = [softmax(weights["kernels.logits"][:, head]) for head in range(heads)]
    return convolved(value, lambda place, head: kernels[head], inside, heads)


def dynamic(
    weights: Weights, x: Tokens, query: Tokens, value: Tokens, inside: Inside, heads: int, kernel_size: int
) -> Tokens:
    """Equation 3 with kernels that each token's value makes."""
    logits = [affine(weights, "generate", v) for v in value]
    return convolved(value, lambda place, head: softmax(part(logits[place], head, heads)), inside, heads)


def gated_dynamic(
    weights: Weights, x: Tokens, query: Tokens, value: Tokens, inside: Inside, heads: int, kernel_size: int
) -> Tokens:
    """Wu et al. 2019: a gated linear unit, a ⊙ σ(b) of the value map's halves, then as above."""
    gated = [part(v, 0, 2) / (1 + torch.exp(-part(v, 1, 2))) for v in value]
    return dynamic(weights, x, query, gated, inside, heads, kernel_size)


def span_dynamic(
    weights: Weights, x: Tokens, query: Tokens, value: Tokens, inside: Inside, heads: int, kernel_size: int
) -> Tokens:
    """Equations 4 to 6: the kernel is softmax(W_f (Q ⊙ K_s)), where K_s is a separable convolution of the input."""
    span_key = separable(within(weights, "span_key"), x, inside, kernel_size)
    logits = [affine(weights, "generate", q * k) for q, k in zip(query, span_key, strict=True)]
    return convolved(value, lambda place, head: softmax(part(logits[place], head, heads)), inside, heads)


BRANCHES: dict[str, Callable[[Weights, Tokens, Tokens, Tokens, Inside, int, int], Tokens]] = {
    "depthwise": depthwise,
    "lightweight": lightweight,
    "dynamic": dynamic,
    "gated_dynamic": gated_dynamic,
    "span_dynamic": span_dynamic,
}


def separable(weights: Weights, x: Tokens, inside: Inside, kernel_size: int) -> Tokens:
    """A kernel per channel without bias, then a map with bias."""
    kernel = weights["depthwise.weight"]
    nothing = torch.zeros_like(x[0])
    sums = [
        total((kernel[tap] * x[source] for tap, source in window(place, kernel_size, inside)), nothing)
        for place in range(len(x))
    ]
    return [affine(weights, "pointwise", each) for each in sums]


def convolved(value: Tokens, kernel: Callable[[int, int], Tensor], inside: Inside, heads: int) -> Tokens:
    """Equation 3, LConv: the sum over taps of kernel(place, head) times the head's channels of the value there."""
    contexts = []
    for place in range(len(value)):
        parts = []
        for head in range(heads):
            taps = kernel(place, head)
            terms = (taps[tap] * part(value[source], head, heads) for tap, source in window(place, len(taps), inside))
            parts.append(total(terms, torch.zeros_like(part(value[place], head, heads))))
        contexts.append(torch.cat(parts))
    return contexts


def window(place: int, kernel_size: int, inside: Inside) -> Iterator[tuple[int, int]]:
    """Yield each tap of the kernel centred on a place with the place it falls on, where that is inside."""
    for tap in range(kernel_size):
        source = place + tap - kernel_size // 2
        if 0 <= source < len(inside) and inside[source]:
            yield tap, source


def feed_forward(weights: Weights, token: Tensor, groups: int) -> Tensor:
    """Equation 8: two maps of contiguous groups of channels with GELU between them."""
    x = grouped(weights, "up", token, groups)
    return grouped(weights, "down", x * (1 + torch.erf(x / math.sqrt(2))) / 2, groups)


def grouped(weights: Weights, name: str, token: Tensor, groups: int) -> Tensor:
    """Each group of channels by a map of its own; a map of groups is stored [group input output]."""
    if groups == 1:
        return affine(weights, name, token)
    maps = weights[f"{name}.weight"]
    return torch.cat([part(token, group, groups) @ maps[group] for group in range(groups)]) + weights[f"{name}.bias"]


def normalised(weights: Weights, name: str, token: Tensor) -> Tensor:
    """Layer normalisation of one token; BERT's release adds 1e-12 to the variance."""
    centred = token - token.sum() / len(token)
    variance = (centred * centred).sum() / len(token)
    return centred / torch.sqrt(variance + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def affine(weights: Weights, name: str, token: Tensor) -> Tensor:
    """W x + b."""
    return weights[f"{name}.weight"] @ token + weights[f"{name}.bias"]


def softmax(scores: Tensor) -> Tensor:
    """Exponentials over their sum; the largest score is taken off first, which changes nothing but overflow."""
    exponentials = torch.exp(scores - scores.max().detach())
    return exponentials / exponentials.sum()


def part(vector: Tensor, index: int, parts: int) -> Tensor:
    """One of the equal, contiguous parts of a vector."""
    size = len(vector) // parts
    return vector[index * size : (index + 1) * size]


def total(terms: Iterator[Tensor], start: Tensor | None = None) -> Tensor:
    """The sum, from `start` where there may be no term."""
    return torch.stack([*([] if start is None else [start]), *terms]).sum(0)


def within(weights: Weights, prefix: str) -> Weights:
    """The weights below a name."""
    return {name.removeprefix(f"{prefix}."): each for name, each in weights.items() if name.startswith(f"{prefix}.")}
