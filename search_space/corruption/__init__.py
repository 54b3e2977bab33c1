"""How an encoder–decoder's source is made of a text: the options, with their arithmetic."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from search_space.corruption.option import (
    Context,
    Corrupted,
    CorruptionOption,
    WholeTarget,
    WithRate,
    chosen,
    masked_at,
    whole_target,
)
from search_space.selection.numbering import NOT_PREDICTED
from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
from steeplechase.foundation.schema import OPTION, JsonValue, PositiveNumber, Share

Corruption = Annotated[CorruptionOption, OPTION]


class TokenMasking(WithRate):
    """The source is as long as the text.

    BART, arXiv 1910.13461, section 2.2: some tokens are replaced by [MASK], the whole text is predicted.
    """

    kind: Literal["token_masking"] = "token_masking"
    """Chooses token masking."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the masked text with the whole text as its target."""
        places = chosen(round(self.rate * len(tokens)), len(tokens), context.random)
        return whole_target(masked_at(tokens, places, context.tokenizer), tokens, context.tokenizer)


class TokenDeletion(WithRate):
    """The source is a subsequence of the text.

    BART, arXiv 1910.13461, section 2.2: some tokens are left out, and the model must find where.
    """

    kind: Literal["token_deletion"] = "token_deletion"
    """Chooses token deletion."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return what is left of the text, with the whole text as its target."""
        places = chosen(round(self.rate * len(tokens)), len(tokens), context.random)
        return whole_target(np.delete(tokens, places), tokens, context.tokenizer)


class TextInfilling(WithRate):
    """Span lengths are drawn from a Poisson distribution; a span of length 0 inserts a [MASK].

    BART, arXiv 1910.13461, section 2.2: spans are replaced by one [MASK] each.
    """

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"permute_sentences": True})

    kind: Literal["text_infilling"] = "text_infilling"
    """Chooses text infilling."""
    mean_span: PositiveNumber = 3.0
    """Mean of the Poisson distribution of span lengths, in tokens. Default: BART's."""
    permute_sentences: bool = False
    """Whether the sentences are permuted first, as in BART's large model (section 5.1)."""

    @property
    def evaluation(self) -> str:
        """The kind, and whether sentences are permuted."""
        return f"{self.kind}_of_permuted_sentences" if self.permute_sentences else self.kind

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the infilled text, with the whole text as its target."""
        shown = permuted_sentences(tokens, context) if self.permute_sentences else tokens
        lengths = span_lengths(math.ceil(self.rate * len(tokens)), self.mean_span, context.random)
        return whole_target(_infilled(shown, lengths, context), tokens, context.tokenizer)


def span_lengths(budget: int, mean: float, random: Random) -> Numbers:
    """Return Poisson lengths that add up to the budget; the last one is cut, and zeros between them are kept."""
    lengths: list[int] = []
    while sum(lengths) < budget:
        lengths.append(min(int(random.poisson(mean)), budget - sum(lengths)))
    return np.asarray(lengths, np.int64)


def _infilled(tokens: Numbers, lengths: Numbers, context: Context) -> Numbers:
    """Return the tokens with a [MASK] for each span.

    Starts are drawn without replacement, so that spans may overlap: as in fairseq, less than the budget is hidden.
    A span that begins inside another keeps its own [MASK] here; fairseq deletes it with the rest of the other span.
    """
    spans = lengths[lengths > 0]
    starts = context.random.choice(len(tokens), min(len(spans), len(tokens)), replace=False)
    hidden, begins = np.zeros(len(tokens), bool), np.zeros(len(tokens), bool)
    for start, length in zip(starts, spans, strict=False):
        hidden[start : start + length] = True
        begins[start] = True
    mask = context.tokenizer.mask
    kept = np.where(begins, mask, tokens)[~hidden | begins]
    inserted = context.random.integers(0, len(kept) + 1, int((lengths == 0).sum()))
    return np.insert(kept, inserted, mask)


SENTENCE_ENDS = frozenset(".!?")


class SentencePermutation(WholeTarget):
    """Sentences end with the tokens `.`, `!` and `?`, as at fairseq's full stop; one sentence stays as it is.

    BART, arXiv 1910.13461, section 2.2: the sentences in a random order.
    """

    kind: Literal["sentence_permutation"] = "sentence_permutation"
    """Chooses sentence permutation."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the permuted text, with the text as its target."""
        return whole_target(permuted_sentences(tokens, context), tokens, context.tokenizer)


def permuted_sentences(tokens: Numbers, context: Context) -> Numbers:
    """Return the text with its sentences in a random order; what follows the last end is a sentence too."""
    ends = np.flatnonzero(np.isin(tokens, sentence_ends(context.tokenizer))) + 1
    sentences = [each for each in np.split(tokens, ends) if len(each)]
    order = context.random.permutation(len(sentences))
    return np.concatenate([sentences[number] for number in order]) if sentences else tokens


@lru_cache(maxsize=4)
def sentence_ends(tokenizer: SpecialTokens) -> tuple[int, ...]:
    """Return the tokens that end sentences, with or without a mark of the tokenizer's around them."""
    bare = (piece.removeprefix("##").strip("▁Ġ") for piece in tokenizer.pieces)
    return tuple(token for token, piece in enumerate(bare) if piece in SENTENCE_ENDS)


class Rotation(WholeTarget):
    """The source is a cyclic shift of the text, by a uniformly drawn number of tokens.

    BART, arXiv 1910.13461, section 2.2: the text begins at a random token.
    """

    kind: Literal["rotation"] = "rotation"
    """Chooses rotation: the source begins elsewhere."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the rotated text, with the text as its target."""
        start = int(context.random.integers(len(tokens)))
        return whole_target(np.roll(tokens, -start), tokens, context.tokenizer)


class Empty(WholeTarget):
    """Each token is predicted from those before it alone.

    Language modelling by the decoder: the source has no token. BART, arXiv 1910.13461, section 4.1, Language Model.
    """

    is_random: ClassVar[bool] = False

    kind: Literal["empty"] = "empty"
    """Chooses an empty source."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return a source without tokens, with the whole text as its target."""
        return whole_target(np.empty(0, np.int64), tokens, context.tokenizer)


class MaskedTokens(CorruptionOption):
    """The decoder reads a [MASK] at each masked place, so that no prediction sees another's token.

    Masked language modelling by the decoder. BART, arXiv 1910.13461, section 4.1.
    """

    kind: Literal["masked_tokens"] = "masked_tokens"
    """Chooses masked language modelling."""
    rate: float = Field(default=0.15, gt=0, le=1)
    """Share of the tokens. Default: BERT's, which BART's comparison has."""

    def predictions(self, tokens: int) -> int:
        """Return the masked tokens."""
        return max(1, round(self.rate * tokens))

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the masked text with the masked tokens as its target."""
        places = chosen(self.predictions(len(tokens)), len(tokens), context.random)
        inputs = np.full(len(places), context.tokenizer.mask, np.int64)
        return Corrupted(masked_at(tokens, places, context.tokenizer), inputs, places, tokens[places])


class PermutedTokens(CorruptionOption):
    """The source hides the drawn tokens; each is predicted from the source and those before it in the order.

    BART, arXiv 1910.13461, section 4.1, after XLNet (arXiv 1906.08237), which predicts them in one stack with two
    streams. Here the decoder reads at each step the token before it in the order, at the place of the token that it
    predicts.
    """

    kind: Literal["permuted_tokens"] = "permuted_tokens"
    """Chooses permuted language modelling."""
    rate: float = Field(default=1 / 6, gt=0, le=1)
    """Share of the tokens. Default: that of BART's comparison."""

    def predictions(self, tokens: int) -> int:
        """Return the drawn tokens."""
        return max(1, round(self.rate * tokens))

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the text without the drawn tokens, and these in a random order as its target."""
        order = context.random.permutation(len(tokens))[: self.predictions(len(tokens))]
        targets = tokens[order]
        inputs = np.concatenate(([context.tokenizer.mask], targets[:-1]))
        return Corrupted(masked_at(tokens, order, context.tokenizer), inputs, order, targets)


AT_AN_END = 0.2  # of the fragments, at the beginning and as many at the end (github microsoft/MASS, MASS-unsupNMT)


class Fragment(CorruptionOption):
    """Every token of the fragment is [MASK] in the source; the decoder predicts these tokens alone.

    Masked sequence to sequence: MASS, arXiv 1905.02450, section 3.2.
    """

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
