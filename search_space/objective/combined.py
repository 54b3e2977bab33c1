"""Several losses beside masked language modelling, summed by weight. StructBERT, Wang et al. 2019, 1908.04577."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from search_space.architecture import Architecture
from search_space.objective.auxiliary_loss import AuxiliaryLoss, WithAuxiliaryLosses
from search_space.packing import PackingOption
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import OPTION, VARIANT_KEY

Part = Annotated[AuxiliaryLoss, OPTION]
SHARED = tuple(name for name in WithAuxiliaryLosses.model_fields if name != VARIANT_KEY)
"""Fields of the combination that its parts have too: packing, how tokens are masked, and the weight of their loss."""


class Combined(WithAuxiliaryLosses):
    """Masked language modelling with the auxiliary losses of several objectives, on one batch.

    The masks and their weight are those of the combination; a part that sets them is refused. A part that shuffles
    tokens does so after the masking; sequences are pairs of segments if a part classifies their relation.
    """

    examples: ClassVar = ({"parts": [{"kind": "word_structure"}, {"kind": "sentence_structure"}]},)
    kind: Literal["combined"] = "combined"
    """Chooses a combination of objectives."""
    parts: tuple[Part, ...] = Field(strict=False, examples=[["word_structure", "sentence_structure"]])
    """The objectives beside masked language modelling, each by its name or with its own weight and settings."""

    @property
    def name(self) -> str:
        """The names of the parts."""
        return f"combined {' and '.join(part.name for part in self.parts)}"

    @model_validator(mode="after")
    def _packing_of_parts(self) -> Self:
        """Set the packing of the part that classifies pairs, where the combination declares none."""
        pairs = next((part.packing for part in self.parts if part.packing.pairs), None)
        if pairs is not None and "packing" not in self.model_fields_set:
            object.__setattr__(self, "packing", pairs)  # the model is frozen, and not yet in use
        return self

    def reads(self, packing: PackingOption) -> bool:
        """Pairs if a part classifies their relation, else the full sequences of one segment."""
        return packing.pairs if any(part.packing.pairs for part in self.parts) else super().reads(packing)

    @property
    def auxiliary_losses(self) -> tuple[AuxiliaryLoss, ...]:
        """The parts with the masks of the combination."""
        shared = {name: getattr(self, name) for name in SHARED}
        return tuple(part.model_copy(update=shared) for part in self.parts)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the parts need of the architecture that it does not have."""
        for part in self.parts:
            yield from part.needs(architecture)

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        own = list(super().violations())
        yield from own
        if len(self.parts) < 2:
            alone = f" Write {self.parts[0].kind} alone" if self.parts else ""
            yield Violation(("parts",), f"{len(self.parts)} is too few; two or more objectives are combined.{alone}")
        yield from self._repeated()
        for position, (declared, part) in enumerate(zip(self.parts, self.auxiliary_losses, strict=True)):
            yield from (violation.under("parts", position) for violation in _set_in(declared))
            for violation in part.violations():
                if violation not in own:
                    yield violation if violation.path[0] in SHARED else violation.under("parts", position)

    def _repeated(self) -> Iterator[Violation]:
        """Yield parts that are listed twice, and a second class of the pairs."""
        pairs = None
        for position, part in enumerate(self.parts):
            if part.kind in (other.kind for other in self.parts[:position]):
                yield Violation(("parts", position), f"{part.kind} is listed twice")
            elif part.packing.pairs and pairs is not None:
                message = f"{part.kind} and {pairs} draw different pairs of segments; a batch has the pairs of one"
                yield Violation(("parts", position), message)
            elif part.packing.pairs:
                pairs = part.kind


def _set_in(part: AuxiliaryLoss) -> Iterator[Violation]:
    """Yield the fields of a part that are those of the combination."""
    for name in SHARED:
        value = getattr(part, name)
        if value != type(part).model_fields[name].get_default(call_default_factory=True):
            message = f"{name} of {part.kind} is that of the combination. Write objective.{name}"
            yield Violation((name,), message)
