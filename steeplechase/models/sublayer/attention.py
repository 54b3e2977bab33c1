"""Mixed attention: self-attention and a convolution branch side by side. ConvBERT, arXiv 2008.02496, fig. 3."""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from search_space.sublayer.attention import SelfAttention
from search_space.visibility import VISIBLE_SIDE, Visibility, looks_ahead
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.attended import by_matrix_products, fused
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, Source
from steeplechase.models.attention_window import Attend, AttentionWindow
from steeplechase.models.cast_weights import JoinedMaps
from steeplechase.models.continuation import Continuation, KeyValueCache, Recomputed, by_head
from steeplechase.models.convolution import PaddingMask, build_branch
from steeplechase.models.norm import build_norm
from steeplechase.models.position import Scored
from steeplechase.models.precision import without_autocast
from steeplechase.models.prepared_layers import PreparedLinear


class Sublayer(JoinedMaps, nn.Module):
    """Attention heads reduced by the bottleneck, the branch's heads beside them, one output map to the width."""

    def __init__(self, declaration: SelfAttention, dropout_rate: float) -> None:
        super().__init__()
        self.declaration, self.dropout, self.visibility = declaration, dropout_rate, declaration.visibility
        self.heads, self.key_heads, biases = declaration.heads, declaration.key_heads, declaration.biases
        self.window, self.score_cap = AttentionWindow.of(declaration), declaration.score_cap
        self.query = nn.Linear(declaration.width, declaration.keys, biases)
        self.key = nn.Linear(declaration.width, declaration.stored_keys, biases)
        self.value = nn.Linear(declaration.width, declaration.stored_values, biases)
        norm, width = declaration.head_norm, declaration.key_width
        self.query_norm = None if norm is None else build_norm(norm, width)
        self.key_norm = None if norm is None else build_norm(norm, width)
        self.branch = build_branch(declaration.convolution, declaration.shape)
        position = declaration.position
        self.relative: nn.Module | None = None if position is None else module_of(position).build_scores(declaration)
        self.output = nn.Linear(declaration.context_width, declaration.width, biases)

    @property
    def maps_of_input(self) -> tuple[nn.Linear, ...]:
        """The maps of query, key and value, and of the branch's value where it is like them."""
        own = None if self.branch is None else self.branch.value
        if type(own) is nn.Linear and (own.bias is None) == (self.query.bias is None):  # a gated one is a subclass
            return self.query, self.key, self.value, own
        return self.query, self.key, self.value

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the output of the sublayer; tokens never attend to padding."""
        content = x if context.order is None else x[:, : context.order.ranks.shape[1]]
        read = content if context.memory is None else torch.cat([context.memory.states.to(x.dtype), content], 1)
        joined = self.mapped(x) if read is x else None
        query, key, value, *own = joined or (self.query(x), self.key(read), self.value(read))
        attended = self._attend(query, key, value, padding_mask, context)
        if self.branch is not None:
            if not own:
                own = [self._of_every_head(value) if self.branch.value is None else self.branch.value(x)]
            (branch_value,) = own
            attended = torch.cat([attended, self.branch(x, query, branch_value, padding_mask)], -1)
        mixed: Tensor = self.output(attended)
        return mixed

    def continuation(self, source: Source | None) -> Continuation:
        """Return the sublayer with its keys and values so far.

        With a convolution branch, which reads its neighbourhood again, the inputs so far.
        """
        return _Continued(self) if self.branch is None else Recomputed(self)

    def _of_every_head(self, value: Float[Tensor, "batch seq stored"]) -> Float[Tensor, "batch seq values"]:
        """Return the values of all heads, those that several heads share repeated."""
        times = self.heads // self.key_heads
        by_own_head = value.unflatten(-1, (self.key_heads, -1))
        return value if times == 1 else by_own_head.repeat_interleave(times, 2).flatten(2)

    def _attend(
        self,
        query: Float[Tensor, "batch seq inner"],
        key: Float[Tensor, "batch read stored_keys"],
        value: Float[Tensor, "batch read stored_values"],
        padding_mask: PaddingMask,
        context: AttentionContext,
    ) -> Float[Tensor, "batch seq attended"]:
        q, (k, v) = by_head(query, self.heads), (by_head(part, self.key_heads) for part in (key, value))
        rate = self.dropout if self.training else 0.0
        q, k, terms = self.with_positions(q, k, context)
        plain = padding_mask is None and terms is None
        by_products = self.score_cap is not None or (q.device.type == "cpu" and q.dtype == torch.bfloat16)
        attend: Attend = partial(fused, dropout_rate=rate)
        if by_products:
            attend = partial(by_matrix_products, dropout_rate=rate, score_cap=self.score_cap)
        with without_autocast(q.device):
            if plain and not by_products and self.window is None and _is_causal(self.visibility, context):
                attended = fused(q, k, v, None, rate, causal=True)
            elif terms is None and self.window is not None and self._in_blocks(q):
                whole = plain and self.visibility != "prefix" and context.visible is None
                visible = None if whole else self._visible(q, padding_mask, context)
                attended = self.window.in_blocks(q, k, v, visible, attend)
            else:
                attended = attend(q, k, v, self.mask(q, k, terms, padding_mask, context))
        return attended.transpose(1, 2).flatten(-2)

    def _in_blocks(self, q: Float[Tensor, "batch heads seq head_dim"]) -> bool:
        """Return whether the window is computed in blocks, which is faster on processors alone."""
        return q.device.type == "cpu" and self.declaration.reads_in_blocks(q.shape[2])

    def with_positions(
        self,
        q: Float[Tensor, "batch heads seq head_dim"],
        k: Float[Tensor, "batch key_heads keys head_dim"],
        context: AttentionContext = NO_CONTEXT,
    ) -> Scored:
        """Return queries and keys with norms and positions, and what these add to the scores; None: nothing."""
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q).to(q.dtype), self.key_norm(k).to(k.dtype)
        if self.relative is None:
            return q, k, None
        scored: Scored = self.relative(q, k, context)
        return scored

    def mask(
        self,
        q: Float[Tensor, "batch heads seq head_dim"],
        k: Float[Tensor, "batch key_heads keys head_dim"],
        terms: Tensor | None,
        padding_mask: PaddingMask,
        context: AttentionContext,
    ) -> Tensor | None:
        """Return where keys are visible, or what is added to the scores [rows heads seq keys]; None: nothing.

        The second is minus infinity where a key is hidden and a term of the positions elsewhere.
        """
        visible = self._visible(q, padding_mask, context)
        if self.window is not None:
            visible = self.window.within(visible, q.shape[2], k.shape[2], q.device)
        return visible if terms is None else _hidden(terms, visible)

    def _visible(self, q: Tensor, padding_mask: PaddingMask, context: AttentionContext) -> Tensor | None:
        return visible_keys(self.visibility, padding_mask, q.shape[2], q.device, context)


class _Continued(Continuation):
    """Self-attention, left to right. Where it reads ahead in a source, the first call is that source, read whole."""

    def __init__(self, layer: Sublayer) -> None:
        self._maps, self._output = PreparedLinear(layer.query, layer.key, layer.value), PreparedLinear(layer.output)
        keys, values = layer.key.out_features, layer.value.out_features
        self._heads, self._sizes = layer.heads, (layer.query.out_features, keys + values)
        self._reads_ahead, self._with_positions = looks_ahead(layer.visibility), layer.with_positions
        self._kept, self._window = KeyValueCache(layer.key_heads, keys, values), layer.window
        cap = layer.score_cap
        self._attend: Attend = fused if cap is None else partial(by_matrix_products, score_cap=cap)

    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        new, first = x.shape[1], self._kept.length == 0
        query, keys_and_values = self._maps(x).split_with_sizes(self._sizes, -1)
        q, (k, v) = by_head(query, self._heads), self._kept.append(keys_and_values)
        visible = None
        if new > 1 and not (first and self._reads_ahead):
            visible = torch.ones(new, k.shape[2], dtype=torch.bool, device=x.device).tril(k.shape[2] - new)
        if self._window is not None:
            band = self._window.band(new, k.shape[2], x.device)
            visible = band if visible is None else visible & band
        q, k, terms = self._with_positions(q, k)
        mask = visible if terms is None else _hidden(terms, visible)
        with without_autocast(x.device):
            attended = self._attend(q, k, v, mask)
        return self._output(attended.transpose(1, 2).flatten(-2))

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        self._kept.reorder(rows)

    def forget(self, count: int) -> None:
        self._kept.forget(count)


def visible_keys(
    visibility: Visibility,
    padding_mask: PaddingMask,
    length: int,
    device: torch.device,
    context: AttentionContext = NO_CONTEXT,
) -> Bool[Tensor, "rows 1 queries seq"] | None:
    """Return where a query may read a key, of the memory and then of the segment. None: everywhere.

    `length` is the number of queries; with an order of prediction, those of both streams.

    Rows and queries are 1 where all are equal. A query that is padding may read itself, and a row that is padding
    alone is read whole, so that no softmax is over nothing.
    """
    tokens = None if padding_mask is None else padding_mask[:, None, None, :]
    if context.order is not None:
        directed = context.order.visible[:, None]
    elif context.visible is not None:
        own = context.visible[:, None]
        directed = own if tokens is None else own & tokens | torch.eye(length, dtype=torch.bool, device=device)
    elif VISIBLE_SIDE[visibility] == "both":
        tokens = None if tokens is None else tokens | ~tokens.any(-1, keepdim=True)
        if context.memory is None:
            return tokens
        directed = torch.ones(1, 1, length, length, dtype=torch.bool, device=device)
        directed = directed if tokens is None else directed & tokens
    else:
        directed = _one_sided(visibility, tokens, length, device, context)
    if context.memory is None:
        return directed
    before = context.memory.valid[:, None, None, :].expand(-1, 1, length, -1)
    return torch.cat([before, directed.expand(len(before), -1, -1, -1)], -1)


def _one_sided(
    visibility: Visibility,
    tokens: Bool[Tensor, "batch 1 1 seq"] | None,
    length: int,
    device: torch.device,
    context: AttentionContext,
) -> Bool[Tensor, "rows 1 queries seq"]:
    square = torch.ones(length, length, dtype=torch.bool, device=device)
    directed = (square.triu() if VISIBLE_SIDE[visibility] == "behind" else square.tril())[None, None]
    if context.prefix is not None:
        directed = directed | context.prefix[:, None, None, :]
    if tokens is not None:
        directed = directed & tokens | torch.eye(length, dtype=torch.bool, device=device)
    return directed


def _is_causal(visibility: Visibility, context: AttentionContext) -> bool:
    """Return whether every token reads those up to itself: torch's fused attention has a path of its own for that."""
    if context.visible is not None:
        return False
    return VISIBLE_SIDE[visibility] == "before" and context.prefix is None and context.memory is None


def _hidden(terms: Float[Tensor, "rows heads seq keys"], visible: Tensor | None) -> Tensor:
    """Return the terms with minus infinity where a key is not visible."""
    return terms if visible is None else terms.masked_fill(~visible, -torch.inf)
