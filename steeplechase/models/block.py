"""A block: sublayers one after the other, each with a residual and a norm before or after it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor, nn

from search_space.normalisation import Normalisation
from search_space.stack import Block as BlockDeclaration
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext, DecodingContext, Source
from steeplechase.models.continuation import Continuation, continuation_of
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.kernels.residual_norm import NO_DROPOUT, Drop
from steeplechase.models.norm import NORMS, norm_of, prepared_norm
from steeplechase.models.normalisation import Connect, Map
from steeplechase.models.sublayer import build_sublayer

NORM = "_norm"
"""Ending of the name of a sublayer's norm."""


class Block(nn.Module):
    """Sublayers under their kinds' names, such as `attention` and `attention_norm`.

    `shared` has sublayers and norms of an earlier block by name: they are computed here again and registered there
    alone, so that the weights hold them once. The `first` block of a stack may begin without a norm.
    """

    def __init__(
        self,
        declaration: BlockDeclaration,
        normalisation: Normalisation,
        dropout_rate: float,
        shared: Mapping[str, nn.Module] | None = None,
        *,
        first: bool = False,
    ) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self._connect: Connect = module_of(normalisation).connect
        self.kinds = tuple(sublayer.kind for sublayer in declaration)
        self._shared = (dict(shared or {}),)  # in a tuple, because a module would be registered
        for place, sublayer in enumerate(declaration):
            if sublayer.kind not in self._shared[0]:
                self.add_module(sublayer.kind, build_sublayer(sublayer, dropout_rate))
                bare = first and not place and not normalisation.has_first_norm
                norm = nn.Identity() if bare else norm_of(normalisation, sublayer.width)
                self.add_module(f"{sublayer.kind}{NORM}", norm)
        for module in self.modules():
            if isinstance(module, NORMS):  # beside a sublayer, or inside it
                module.eps = normalisation.epsilon

    def sublayers(self) -> Iterator[tuple[nn.Module, nn.Module]]:
        """Yield each sublayer with its norm, in the order of execution."""
        for kind in self.kinds:
            yield self._module(kind), self._module(f"{kind}{NORM}")

    def _module(self, name: str) -> nn.Module:
        return self._shared[0][name] if name in self._shared[0] else self.get_submodule(name)

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the block's output."""
        drop = self._drop
        for sublayer, norm in self.sublayers():
            x = self._connect(x, partial(_read, sublayer, padding_mask, context), norm, drop)
        return x

    def decode(
        self, x: Float[Tensor, "batch seq width"], context: DecodingContext
    ) -> Float[Tensor, "batch seq width"]:
        """Return the output of a decoder's block."""
        drop = self._drop
        for sublayer, norm in self.sublayers():
            x = self._connect(x, context.reading(sublayer), norm, drop)
        return x

    def continuation(self, source: Source | None) -> Continuation:
        """Return the block at the start of a sequence that is decoded, without dropout."""
        parts = [(continuation_of(sublayer, source), prepared_norm(norm)) for sublayer, norm in self.sublayers()]
        return _Continued(self._connect, parts)

    @property
    def _drop(self) -> Drop:
        return Drop(self.dropout_rate) if self.training else NO_DROPOUT


class _Continued(Continuation):
    """The sublayers of a block, one after the other, while a sequence is decoded."""

    def __init__(self, connect: Connect, parts: Sequence[tuple[Continuation, Map]]) -> None:
        self._connect, self._parts = connect, parts

    def __call__(self, x: Float[Tensor, "rows new width"]) -> Float[Tensor, "rows new width"]:
        for sublayer, norm in self._parts:
            x = self._connect(x, sublayer, norm, NO_DROPOUT)
        return x

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        for sublayer, _ in self._parts:
            sublayer.reorder(rows)

    def forget(self, count: int) -> None:
        for sublayer, _ in self._parts:
            sublayer.forget(count)


def _read(sublayer: nn.Module, padding_mask: PaddingMask, context: AttentionContext, x: Tensor) -> Tensor:
    output: Tensor = sublayer(x, padding_mask, context)
    return output
