"""Cross-attention: queries of the target, keys and values of the encoder's output. Vaswani et al. 2017, 3.2.3."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.decoding_context import DecodingContext, Source
from models.precision import without_autocast
from search_space.sublayer.cross_attention import CrossAttention


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

    def read(
        self, x: Float[Tensor, "batch seq width"], context: DecodingContext, name: str
    ) -> Float[Tensor, "batch seq width"]:
        """Return the output of the sublayer; keys and values of the source are computed once for all positions."""
        assert context.source is not None
        if context.caches is None:
            keys, values = self._keys_and_values(context.source)
        else:
            if name not in context.caches:
                context.caches[name] = self._keys_and_values(context.source)
                context.source_places.add(name)
            keys, values = context.caches[name]
        mask = context.source.padding_mask
        # a source that is padding alone is read whole: a softmax over nothing would be no number
        visible = None if mask is None else (mask | ~mask.any(1, keepdim=True))[:, None, None, :]
        rate = self.dropout if self.training else 0.0
        query = self._by_head(self.query(x))
        with without_autocast(x.device):
            attended = scaled_dot_product_attention(query, keys, values, attn_mask=visible, dropout_p=rate)
        mixed: Tensor = self.output(attended.transpose(1, 2).flatten(-2))
        return mixed

    def _keys_and_values(
        self, source: Source
    ) -> tuple[Float[Tensor, "batch heads source head_dim"], Float[Tensor, "batch heads source value_dim"]]:
        return self._by_head(self.key(source.states)), self._by_head(self.value(source.states))

    def _by_head(self, x: Float[Tensor, "batch seq inner"]) -> Float[Tensor, "batch heads seq head_dim"]:
        by_head: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return by_head
