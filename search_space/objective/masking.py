"""Masking: how positions are drawn and corrupted. ELECTRA's release, configure_pretraining."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from foundation.errors import Violation
from foundation.schema import OpenOption, Share
from search_space.architecture import Architecture
from search_space.cost import MATMUL, Component, Convention


class Masking(OpenOption):
    """A share of the tokens is predicted; most of them are replaced by [MASK].

    Positions are drawn without replacement (ELECTRA's release draws with replacement, which leaves about 13.8%
    of a sequence of 128). Special tokens and padding are never drawn.
    """

    package: ClassVar[str] = "search_space.objective"
    modules: ClassVar[str] = "tasks.objectives"
    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that is predicted. Default: BERT and ELECTRA-Small."""
    mask_token_share: Share = 0.85
    """Share of the predicted positions replaced by [MASK]; the rest keep their token. Default: ELECTRA."""
    random_token_share: Share = 0.0
    """Share of the predicted positions replaced by a random token. BERT: 0.1, with 0.8 replaced by [MASK]."""

    def predictions(self, length: int) -> int:
        """Return the number of predicted positions: 19 of 128 at 15%; never [CLS] or the last [SEP]."""
        return max(1, min(length - 2, int((self.mask_rate + 0.005) * length)))

    @abstractmethod
    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the generator that corrupts the input; None if there is none."""

    @abstractmethod
    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the components that pretraining adds to the encoder and fine-tuning drops."""

    def head_parameters(self, architecture: Architecture, generator: Architecture | None) -> int:
        """Return the number of parameters that pretraining adds to the encoder and fine-tuning drops."""
        return sum(part.all_parameters for part in self.added_parts(architecture, generator, 1))

    def forward_flops(
        self,
        architecture: Architecture,
        generator: Architecture | None,
        length: int,
        convention: Convention = MATMUL,
    ) -> int:
        """Return the FLOPs of one pretraining forward pass over a sequence of `length` tokens."""
        added = self.added_parts(architecture, generator, length)
        return convention.flops((*architecture.parts(length), *added), length, self.predictions(length))

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        if self.mask_token_share + self.random_token_share > 1:
            total = f"mask_token_share {self.mask_token_share} + random_token_share {self.random_token_share}"
            yield Violation(("random_token_share",), f"{total} is more than 1; the two are parts of one whole")
