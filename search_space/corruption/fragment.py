"""Masked sequence to sequence: the decoder predicts a fragment that the source hides. MASS, arXiv 1905.02450, 3.2."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.corruption.option import CorruptionOption
from steeplechase.foundation.schema import JsonValue, Share


class Fragment(CorruptionOption):
    """Every token of the fragment is [MASK] in the source; the decoder predicts these tokens alone."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"discrete": True}, {"reads_all": True})

    kind: Literal["fragment"] = "fragment"
    """Chooses a fragment of consecutive tokens."""
    share: Share = 0.5
    """Length of the fragment as a share of the text, at least 1 token. Default: MASS's (section 4.4)."""
    discrete: bool = False
    """Whether as many tokens are drawn one by one in place of a fragment: MASS's ablation `Discrete` (Table 7)."""
    reads_all: bool = False
    """Whether the decoder reads every token before the one that it predicts, in place of the fragment's alone: MASS's
    ablation `Feed` (Table 7)."""

    @property
    def evaluation(self) -> str:
        """The kind with every setting: each decides what is predicted, or from what."""
        names = (name for name in ("discrete", "reads_all") if getattr(self, name))
        return "_".join((self.kind, f"{100 * self.share:g}_percent", *names))

    def predictions(self, tokens: int) -> int:
        """Return the tokens of the fragment."""
        return max(1, min(tokens, round(self.share * tokens)))
