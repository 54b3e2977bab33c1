"""Masked sequence to sequence: the decoder predicts a fragment that the source hides. MASS, arXiv 1905.02450, 3.2."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.corruption.option import CorruptionOption
from search_space.corruption.row import Context, Corrupted, chosen, masked_at
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.schema import JsonValue, Share

AT_AN_END = 0.2  # of the fragments, at the beginning and as many at the end (github microsoft/MASS, MASS-unsupNMT)


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

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the text without the fragment; the decoder reads [MASK], then the fragment's tokens at their places.

        Where it reads all, it reads [CLS] and the text, and predicts the fragment's tokens alone.
        """
        count = self.predictions(len(tokens))
        if self.discrete:
            places = chosen(count, len(tokens), context.random)
        else:
            places = np.arange(count) + fragment_start(len(tokens) - count, context.random)
        source = masked_at(tokens, places, context.tokenizer)
        if self.reads_all:
            inputs = np.concatenate(([context.tokenizer.classify], tokens[:-1]))
            hidden = np.isin(np.arange(len(tokens)), places)
            return Corrupted(source, inputs, np.arange(len(tokens)), np.where(hidden, tokens, NOT_PREDICTED))
        targets = tokens[places]
        inputs = np.concatenate(([context.tokenizer.mask], targets[:-1]))
        return Corrupted(source, inputs, places, targets)


def fragment_start(last: int, random: Random) -> int:
    """Return the first place of a fragment, from 0 to `last`: often one of the two, else uniform over all."""
    draw = random.random()
    uniform = int(random.integers(last + 1))
    if draw < AT_AN_END:
        return 0
    return last if draw < 2 * AT_AN_END else uniform
