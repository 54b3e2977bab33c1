"""Cross-attention: queries of the target, keys and values of the encoder's output. Vaswani et al. 2017, 3.2.3."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from search_space.sublayer.cross_attention import CrossAttention
from steeplechase.models.attention_context import DecodingContext, Source
from steeplechase.models.continuation import Continuation, WithoutPast, by_head
from steeplechase.models.precision import without_autocast
from steeplechase.models.prepared_layers import PreparedLinear


class Sublayer(nn.Module):
    """Attention from every token of the target to the tokens of the source; padding of the source is never read."""

    def __init__(self, declaration: CrossAttention, dropout_rate: float) -> None:
        super().__init__()
        self.heads, self.dropout = declaration.heads, dropout_rate
        biases = declaration.biases
        self.query = nn.Linear(declaration.width, declaration.keys, biases)
        self.key = nn.Linear(declaration.source_width, declaration.keys, biases)
        self.value = nn.Linear(declaration.source_width, declaration.values, biases)
        self.output = nn.Linear(declaration.values, declaration.width, biases)

    def read(self, x: Float[Tensor, "batch seq width"], context: DecodingContext) -> Float[Tensor, "batch seq width"]:
        """Return the output of the sublayer."""
        assert context.source is not None
        keys, values = self.keys_and_values(context.source)
        rate = self.dropout if self.training else 0.0
        query, visible = by_head(self.query(x), self.heads), visible_source(context.source)
        with without_autocast(x.device):
            attended = scaled_dot_product_attention(query, keys, values, attn_mask=visible, dropout_p=rate)
        mixed: Tensor = self.output(attended.transpose(1, 2).flatten(-2))
        return mixed

    def continuation(self, source: Source | None) -> Continuation:
        """Return the sublayer with the keys and values of the source, which are computed once."""
        assert source is not None
        return _Continued(self, source)

    def keys_and_values(
        self, source: Source
    ) -> tuple[Float[Tensor, "batch heads source head_dim"], Float[Tensor, "batch heads source value_dim"]]:
        """Return keys and values of the source by head."""
        return by_head(self.key(source.states), self.heads), by_head(self.value(source.states), self.heads)


class _Continued(WithoutPast):
    """Cross-attention with the keys and values of its source, which are equal for all hypotheses of a sentence."""

    def __init__(self, layer: Sublayer, source: Source) -> None:
        self._query, self._output = PreparedLinear(layer.query), PreparedLinear(layer.output)
        self._heads, self._visible = layer.heads, visible_source(source)
        self._keys, self._values = (each.contiguous() for each in layer.keys_and_values(source))

    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        q = by_head(self._query(x), self._heads)
        with without_autocast(x.device):
            attended = scaled_dot_product_attention(q, self._keys, self._values, attn_mask=self._visible)
        return self._output(attended.transpose(1, 2).flatten(-2))


def visible_source(source: Source) -> Bool[Tensor, "batch 1 1 source"] | None:
    """Return which tokens of the source are read: none of its padding; None: all.

    A source that is padding alone is read whole, because a softmax over nothing would be no number.
    """
    mask = source.padding_mask
    return None if mask is None else (mask | ~mask.any(1, keepdim=True))[:, None, None, :]
