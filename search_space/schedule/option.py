"""What every schedule offers, linear warm-up included. Goyal et al. 2017, arXiv 1706.02677, section 2.2."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import JsonValue, OpenOption


class ScheduleOption(OpenOption):
    """The learning rate as a function of tokens, so that equal tokens mean equal phase, after a linear warm-up."""

    package: ClassVar[str] = "search_space.schedule"
    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"warmup_tokens": 512})

    warmup_tokens: Annotated[int, Field(ge=0, le=2**53)] = 163_840_000
    """Tokens until the rate reaches its peak; 0 starts at the peak. Default: 10,000 updates of 128 x 128 (ELECTRA,
    appendix A)."""

    @property
    @abstractmethod
    def after_warm_up(self) -> str:
        """What the rate does after the warm-up, for the text of a recipe."""

    @abstractmethod
    def horizon(self, total_tokens: int, until_tokens: int) -> int | None:
        """Return the budget that the rates of the first `until_tokens` depend on; None if they depend on none.

        A longer budget continues the checkpoint of a shorter one where it is None.
        """

    @abstractmethod
    def multiplier(self, tokens: int, total_tokens: float) -> float:
        """Return the share of the peak rate after `tokens` of `total_tokens`, which is infinite without a horizon."""

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from ()

    def warm_up(self, tokens: int) -> float:
        """Return the warm-up's factor after `tokens`: it rises linearly to 1."""
        return 1.0 if tokens >= self.warmup_tokens else tokens / self.warmup_tokens
