"""Two sublayers on the same input, added."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from search_space.sublayer.parallel import ParallelSublayers
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, DecodingContext, Source
from steeplechase.models.continuation import Continuation, continuation_of
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.sublayer import build_sublayer


class Sublayer(nn.Module):
    """The sum of two sublayers' outputs."""

    def __init__(self, declaration: ParallelSublayers, dropout_rate: float) -> None:
        super().__init__()
        self.first = build_sublayer(declaration.first, dropout_rate)
        self.second = build_sublayer(declaration.second, dropout_rate)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the sum of what the sublayers give for the same input."""
        total: Tensor = self.first(x, padding_mask, context) + self.second(x, padding_mask, context)
        return total

    def read(self, x: Float[Tensor, "batch seq width"], context: DecodingContext) -> Tensor:
        """Return the sum in a decoder [batch seq width]."""
        return context.read(self.first, x) + context.read(self.second, x)

    def continuation(self, source: Source | None) -> Continuation:
        """Return both branches at the start of a sequence."""
        return _Continued(continuation_of(self.first, source), continuation_of(self.second, source))


class _Continued(Continuation):
    """The sum of two continuations."""

    def __init__(self, first: Continuation, second: Continuation) -> None:
        self._first, self._second = first, second

    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        return self._first(x) + self._second(x)

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        self._first.reorder(rows)
        self._second.reorder(rows)

    def forget(self, count: int) -> None:
        self._first.forget(count)
        self._second.forget(count)
