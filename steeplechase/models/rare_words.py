"""The embedding of a word from its character n-grams and its contexts, on a frozen encoder.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181, section 3; attention over contexts: 1904.01617, section 3.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from search_space.rare_words import Variant
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import truncated_normal

FORM, CONTEXT, COMBINATION = "form", "context", "combination"
PARTS = (FORM, CONTEXT, COMBINATION)
"""The parts that the three stages train; each stage trains one and leaves the others."""


@dataclass(frozen=True)
class WordBatch:
    """Words with their n-grams and occurrences; the tensors are on one device."""

    ngrams: Int[Tensor, "words grams"]
    """Rows of the table of n-grams; 0 for none."""
    contexts: Int[Tensor, "words contexts seq"]
    """Tokens of each occurrence, [MASK] in the word's place, padded."""
    places: Int[Tensor, "words contexts"]
    """Position of that [MASK]."""
    real: Bool[Tensor, "words contexts seq"]
    """False at padding; false everywhere in a row that is no occurrence. A word has at least one occurrence."""

    @property
    def present(self) -> Bool[Tensor, "words contexts"]:
        """Whether a row is an occurrence."""
        return self.real.any(-1)


class FormEmbedding(nn.Module):
    """The mean of the embeddings of a word's n-grams; row 0 is of no n-gram."""

    def __init__(self, ngrams: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(ngrams + 1, width)

    def forward(self, ngrams: Int[Tensor, "words grams"]) -> Float[Tensor, "words embedding"]:
        """Return the mean over each word's n-grams; 0 for a word without one."""
        known = (ngrams > 0)[..., None]
        mean: Tensor = (self.table(ngrams) * known).sum(1) / known.sum(1).clamp_min(1)
        return mean


class ContextAttention(nn.Module):
    """Attention over a word's contexts: those that resemble the others count more. Eq. 5 of 1904.01617.

    The sums of scaled products are normalised by a softmax, which is defined for negative ones too.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Initialise like a linear map."""
        truncated_normal(self.weight, generator)

    def forward(
        self, vectors: Float[Tensor, "words contexts embedding"], present: Bool[Tensor, "words contexts"]
    ) -> Float[Tensor, "words contexts"]:
        """Return the weights; those of a word's contexts sum to 1, absent ones have 0."""
        mapped = vectors @ self.weight * present[..., None]
        scores: Tensor = (mapped @ mapped.sum(1)[..., None])[..., 0] / math.sqrt(vectors.shape[-1])
        return scores.masked_fill(~present, -torch.inf).softmax(-1)


class RareWordModel(nn.Module):
    """Form and contexts of words to embeddings, in the token table of an encoder, which is never changed."""

    def __init__(self, encoder: Encoder, variant: Variant, ngrams: int, colon: int) -> None:
        super().__init__()
        architecture = encoder.architecture
        self.variant, self.colon = variant, colon
        self._encoder = (encoder.eval().requires_grad_(False),)  # in a tuple, because a module would be registered
        width = architecture.embedding_width
        self.form = FormEmbedding(ngrams, width)
        self.output = nn.Linear(architecture.width, width)
        self.attention = ContextAttention(width)
        self.gate = nn.Linear(2 * width, 1)

    @property
    def encoder(self) -> Encoder:
        """The frozen encoder."""
        return self._encoder[0]

    def parameters_of(self, part: str) -> Iterator[nn.Parameter]:
        """Yield the parameters of a part; the combination of `replace` and `add` begins as the trained context."""
        if part == FORM:
            yield from self.form.parameters()
        elif part == CONTEXT or self.variant in ("replace", "add"):
            yield from (*self.output.parameters(), *self.attention.parameters())
        elif self.variant == "shallow":
            yield from self.gate.parameters()

    def forward(self, batch: WordBatch, part: str = COMBINATION) -> Float[Tensor, "words embedding"]:
        """Return an embedding per word: the whole model's, or that of the form or the context alone."""
        variant = self.variant if part == COMBINATION else part
        if variant == FORM:
            found: Tensor = self.form(batch.ngrams)
            return found
        form = None if variant == CONTEXT else self.form(batch.ngrams)
        vectors = self._of_contexts(batch, None if variant == "shallow" else form)
        if variant == "shallow":
            assert form is not None
            spread = form[:, None].expand_as(vectors)
            share = torch.sigmoid(self.gate(torch.cat([spread, vectors], -1)))
            vectors = share * spread + (1 - share) * vectors
        weights = self.attention(vectors, batch.present)
        embedded: Tensor = (weights[..., None] * vectors).sum(1)
        return embedded

    def _of_contexts(
        self, batch: WordBatch, form: Float[Tensor, "words embedding"] | None
    ) -> Float[Tensor, "words contexts embedding"]:
        """Return the mapped output of the encoder at each occurrence; 0 for a row that is none."""
        present = batch.present
        words = torch.arange(len(present), device=present.device)[:, None].expand_as(present)[present]
        rows = _Rows(batch.contexts[present], batch.places[present], batch.real[present])
        table = self.encoder.embeddings.tokens.weight
        if form is not None:
            rows = self._with_form(rows, words + len(table))
            table = torch.cat([table, form])
        hidden = functional_call(
            self.encoder, {"embeddings.tokens.weight": table}, (rows.tokens, None, rows.real), strict=False
        )
        at_place = hidden[torch.arange(len(words), device=words.device), rows.places]
        vectors: Tensor = at_place.new_zeros(*present.shape, table.shape[1])
        vectors[present] = self.output(at_place)
        return vectors

    def _with_form(self, rows: "_Rows", words: Int[Tensor, " rows"]) -> "_Rows":
        """Return the contexts with a word's form: in its place, or with a colon after [CLS]."""
        count = len(words)
        if self.variant == "replace":
            return replace(rows, tokens=rows.tokens.scatter(1, rows.places[:, None], words[:, None]))
        prefix = torch.stack([words, torch.full_like(words, self.colon)], 1)
        tokens = torch.cat([rows.tokens[:, :1], prefix, rows.tokens[:, 1:]], 1)
        real = torch.cat([rows.real[:, :1], rows.real.new_ones(count, 2), rows.real[:, 1:]], 1)
        return _Rows(tokens, rows.places + 2, real)


class TableWithWords(nn.Embedding):
    """A token table with the embeddings of further words behind it, which are never trained and not stored."""

    words: Float[Tensor, "words embedding"]

    def __init__(self, tokens: nn.Embedding, words: Float[Tensor, "words embedding"]) -> None:
        super().__init__(tokens.num_embeddings, tokens.embedding_dim, _weight=tokens.weight.detach())
        self.weight = tokens.weight
        self.register_buffer("words", words, persistent=False)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq embedding"]:
        """Return the embedding of every token; those from `num_embeddings` on are words."""
        further = (tokens - self.num_embeddings).clamp_min(0)
        known = super().forward(tokens.clamp_max(self.num_embeddings - 1))
        embedded: Tensor = torch.where((tokens < self.num_embeddings)[..., None], known, self.words[further])
        return embedded


def add_words(encoder: Encoder, words: Float[Tensor, "words embedding"]) -> None:
    """Put the embeddings of words behind the token table of an encoder."""
    encoder.embeddings.tokens = TableWithWords(encoder.embeddings.tokens, words.to(encoder.device))


@dataclass(frozen=True)
class _Rows:
    """Sequences that the encoder reads, and the position of the vector that is used."""

    tokens: Int[Tensor, "rows seq"]
    places: Int[Tensor, " rows"]
    real: Bool[Tensor, "rows seq"]
