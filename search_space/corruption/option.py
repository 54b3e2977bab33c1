"""What every option of corruption has: what its source hides and what its target is."""

from abc import abstractmethod
from typing import ClassVar

from pydantic import Field

from search_space.corruption.row import Context, Corrupted
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.schema import OpenOption


class CorruptionOption(OpenOption):
    """An option that makes a source and a target of a text."""

    package: ClassVar[str] = "search_space.corruption"
    is_random: ClassVar[bool] = True
    """Whether the same text gives other sources or targets with another random stream."""

    @property
    def evaluation(self) -> str:
        """The name of its held-out loss; of settings that make another loss, each has another name."""
        return self.kind

    @abstractmethod
    def predictions(self, tokens: int) -> int:
        """Return the number of predicted tokens of a text of `tokens` tokens, the end of the target included."""

    @abstractmethod
    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the source and the target of a text without special tokens [tokens].

        It is a function of the text and the random stream alone.
        """


class WholeTarget(CorruptionOption):
    """The target is the whole text with its end, whatever the source hides."""

    def predictions(self, tokens: int) -> int:
        """Return all tokens and the end."""
        return tokens + 1


class WithRate(WholeTarget):
    """A share of the tokens is corrupted, drawn without replacement."""

    rate: float = Field(default=0.3, ge=0, le=1)
    """Share of the tokens. Default: BART's of text infilling (fairseq, examples/bart)."""
