"""Masked language modelling with one of four visibilities for each sequence. UNILM, Dong et al. 2019, 1905.03197.

One stack with one set of weights; the mask of attention alone says what a token reads. A sequence of one text is a
source and a target where its visibility is `prefix`: BART's multitask masked language model (arXiv 1910.13461, 4.1).
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.layer_program import Parallel
from search_space.objective.masked_language_model import WithMaskedReference
from search_space.output_layer import vocabulary_head
from search_space.packing import PackingOption
from search_space.reading_rules import reads_by_attention_alone
from search_space.visibility import Visibility
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Share

SEGMENTS = 6
"""Segment embeddings of an architecture that tells the visibilities apart."""
WHOLE = 1e-6
"""By how much the shares may miss 1, which thirds cannot be written as."""


class MixedVisibility(WithMaskedReference):
    """Cross-entropy of masked tokens; each sequence is read in both directions, in one, or as source and target.

    The held-out loss is that of masked tokens read in both directions. With 6 segment embeddings each visibility has
    its own: 0 both directions, 2 left to right, 3 right to left, 4 and 5 a source and its target (unilm-v1 has 2, 4
    and 5); with fewer there is one for all.
    """

    kind: Literal["mixed_visibility"] = "mixed_visibility"
    """Chooses masked language modelling with mixed visibilities."""
    bidirectional_share: Share = 1 / 3
    """Share of the sequences whose tokens read all. Default, of all four: UNILM's (section 2)."""
    prefix_share: Share = 1 / 3
    """Share of the sequences with a source, whose tokens read it all, and a target, whose tokens read the source and
    those up to themselves."""
    left_to_right_share: Share = 1 / 6
    """Share of the sequences whose tokens read those up to themselves."""
    right_to_left_share: Share = 1 / 6
    """Share of the sequences whose tokens read those from themselves on."""
    source_share: float = Field(default=0.5, gt=0, lt=1)
    """Share of a sequence that is the source under `prefix`. Default: BART's multitask masked language model."""

    @property
    def shares(self) -> tuple[tuple[Visibility, float], ...]:
        """The visibilities with their shares."""
        return (
            ("bidirectional", self.bidirectional_share),
            ("prefix", self.prefix_share),
            ("left_to_right", self.left_to_right_share),
            ("right_to_left", self.right_to_left_share),
        )

    @property
    def evaluation(self) -> str:
        """That of masked language modelling, whose tokens are read in both directions."""
        return "masked_language_model"

    @property
    def continues_by_mask(self) -> bool:
        """Yes: as in section 2.4 of UNILM."""
        return True

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """Both directions: the objective hides what it hides for each sequence."""
        return ("bidirectional",)

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded."""
        return not (packing.pairs or packing.reads_mentions or packing.consecutive)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head."""
        return (vocabulary_head(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield the parts that read tokens whatever the mask of attention hides."""
        where = ("architecture", "layers")
        if architecture.is_counted:
            yield Violation(
                ("objective",), f"{self.name} masks attention; an architecture of kind module has its own"
            )
            return
        if architecture.convolution.reach is not None:
            message = f"{architecture.convolution.kind} reads tokens that {self.name} hides. Write none"
            yield Violation(("architecture", "convolution"), message)
        items = architecture.program.items
        branches = (branch for item in items for branch in (item.branches if isinstance(item, Parallel) else (item,)))
        others = [branch for branch in branches if not reads_by_attention_alone(branch)]
        if others:
            message = f"{others[0]} reads tokens that {self.name} hides; allowed sublayers: s, f and g"
            yield Violation(where, message)

    def violations(self) -> Iterator[Violation]:
        """Yield shares that are not parts of one whole."""
        yield from super().violations()
        total = sum(share for _, share in self.shares)
        if abs(total - 1) > WHOLE:
            parts = ", ".join(f"{name} {share:g}" for name, share in self.shares)
            yield Violation(
                ("bidirectional_share",), f"the shares of visibilities add up to {total:g}, not 1: {parts}"
            )
