"""Embeddings of rare words: what each variant learns of a planted vocabulary, and what training leaves unchanged."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from runners.training import mimicking
from runners.training.mimicking import Word, WordSource
from search_space.architecture import Architecture
from search_space.rare_words import RareWords, Variant
from steeplechase.foundation.errors import DataError
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.rare_words.contexts import NgramTable
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

SUFFIXES = ("ing", "less", "tion", "able")
CLASSES = 4
WORDS_TAUGHT, WORDS_NEW, OCCURRENCES = 120, 40, 4
CONTEXT_WORDS = [f"c{kind}x{number}" for kind in range(CLASSES) for number in range(4)]
SETTINGS = RareWords(
    fewest_contexts=2,
    most_contexts=4,
    context_length=10,
    ngram_words=20,  # those of the suffixes
    context_epochs=8,
    form_epochs=8,
    combination_epochs=12,
    batch_words=30,
    form_learning_rate=0.05,
    context_learning_rate=0.02,
)


@dataclass(frozen=True)
class Planted:
    """Words whose embedding is the sum of a vector of their suffix and one of the class of their contexts."""

    encoder: Encoder
    stream: np.ndarray
    tokenizer: WordPiece
    taught: tuple[Word, ...]
    new: tuple[Word, ...]

    def source(self, variant: Variant) -> WordSource:
        """Return the source of batches of a variant."""
        settings = SETTINGS.model_copy(update={"variant": variant})
        return WordSource(
            self.stream, self.tokenizer, NgramTable.of([w.text for w in self.taught], settings), settings
        )

    def embeddings(self, words: tuple[Word, ...]) -> Tensor:
        """Return the words' rows of the token table."""
        return self.encoder.embeddings.tokens.weight.detach()[[word.pieces[0] for word in words]]


@pytest.fixture(scope="module")
def planted() -> Planted:
    random = np.random.default_rng(1)
    letters = list("abcdefgh")
    stems = dict.fromkeys("".join(random.choice(letters, 5)) for _ in range(2 * (WORDS_TAUGHT + WORDS_NEW)))
    words = [f"{stem}{SUFFIXES[number % len(SUFFIXES)]}" for number, stem in enumerate(stems)][
        : WORDS_TAUGHT + WORDS_NEW
    ]
    kinds = random.integers(CLASSES, size=len(words))
    tokenizer = WordPiece([*SPECIAL_TOKENS, ":", *CONTEXT_WORDS, *words], lowercase=True)
    sentences = []
    for word, kind in zip(words, kinds, strict=True):
        around = [f"c{kind}x{number}" for number in range(4)]
        for _ in range(OCCURRENCES):
            left, right = random.choice(around, 3), random.choice(around, 3)
            sentences.append(" ".join([*left, word, *right]))
    stream = np.array([token for each in tokenizer.encode(sentences) for token in (*each, tokenizer.separate)])
    architecture = Architecture(
        depth=1,
        width=32,
        embedding_width=32,
        heads=4,
        feed_forward_width=32,
        vocabulary_size=tokenizer.vocabulary_size,
        positions=16,
    )
    torch.manual_seed(1)  # of the biases, whatever tests ran before
    encoder = Encoder(architecture, 0.0)
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2 if parameter.ndim > 1 else parameter)
        of_suffix, of_class = torch.randn(len(SUFFIXES), 32), torch.randn(CLASSES, 32)
        of_suffix -= of_suffix.mean(0)
        of_class -= of_class.mean(0)
        first = tokenizer.pieces.index(words[0])
        suffixes = torch.arange(len(words)) % len(SUFFIXES)
        encoder.embeddings.tokens.weight[first:] = of_suffix[suffixes] + of_class[torch.from_numpy(kinds)]
    found = mimicking.found_words(words, stream, tokenizer)
    return Planted(encoder, stream, tokenizer, found[:WORDS_TAUGHT], found[WORDS_TAUGHT:])


def explained(planted: Planted, variant: Variant) -> float:
    """Return R² on unseen words after training."""
    source = planted.source(variant)
    model = mimicking.mimicking_model(planted.encoder, source, 1)
    mimicking.train_to_mimic(model, planted.taught, source, 1)
    found = mimicking.embeddings_of(model, planted.new, source)
    return mimicking.explained_variance(found, planted.embeddings(planted.new))


def test_form_and_context_explain_their_halves_and_together_more(planted: Planted) -> None:
    before = {name: value.clone() for name, value in planted.encoder.state_dict().items()}
    form, context = explained(planted, "form"), explained(planted, "context")
    assert 0.3 < form < 0.55
    assert 0.3 < context < 0.55
    both = [explained(planted, variant) for variant in ("shallow", "replace", "add")]
    assert min(both) > max(form, context) + 0.05
    assert all(torch.equal(value, before[name]) for name, value in planted.encoder.state_dict().items())


@pytest.mark.parametrize("variant", ["context", "replace", "add"])
def test_the_encoder_reads_the_form_where_the_variant_says(planted: Planted, variant: Variant) -> None:
    source = planted.source(variant)
    model = mimicking.mimicking_model(planted.encoder, source, 1)
    word = planted.new[0]
    batch = source.batch([replace(word, starts=word.starts[:1])], torch.device("cpu"), None)
    tokens = batch.contexts[0, 0][batch.real[0, 0]].tolist()
    place = int(batch.places[0, 0])
    form = len(planted.tokenizer.pieces)
    changed = {
        "context": tokens,
        "replace": [*tokens[:place], form, *tokens[place + 1 :]],
        "add": [tokens[0], form, planted.tokenizer.pieces.index(":"), *tokens[1:]],
    }[variant]
    larger = Encoder(planted.encoder.architecture.model_copy(update={"vocabulary_size": form + 1}), 0.0).eval()
    weights = dict(planted.encoder.state_dict())
    table = weights["embeddings.tokens.weight"]
    weights["embeddings.tokens.weight"] = torch.cat([table, model.form(batch.ngrams).detach()])
    larger.load_state_dict(weights)
    hidden = larger(torch.tensor([changed]))[0, place + (2 if variant == "add" else 0)]
    assert torch.allclose(model(batch)[0], model.output(hidden), atol=1e-5)


def test_words_that_cannot_be_embedded_or_mimicked_are_refused_with_their_names(planted: Planted) -> None:
    source = planted.source("replace")
    model = mimicking.mimicking_model(planted.encoder, source, 1)
    absent = Word("unheardofing", (1, 2), np.empty(0, np.int64))
    with pytest.raises(DataError, match="no context: unheardofing"):
        mimicking.embeddings_of(model, [absent], source)
    with pytest.raises(DataError, match="no n-gram: zzz"):
        mimicking.embeddings_of(model, [Word("zzz", (1,), planted.new[0].starts)], source)
    with pytest.raises(DataError) as refused:
        mimicking.train_to_mimic(model, [absent], source, 1)
    assert [line.split(" ")[0] for line in refused.value.lines] == ["unheardofing", "unheardofing"]
    with pytest.raises(DataError, match="no frequent word"):
        mimicking.train_to_mimic(model, [], source, 1)


def test_frequent_words_are_whole_words_of_one_token(planted: Planted) -> None:
    found = mimicking.frequent_words(planted.stream, planted.tokenizer, OCCURRENCES)
    assert {word.text for word in found} == {word.text for word in (*planted.taught, *planted.new)}
    assert mimicking.frequent_words(planted.stream, planted.tokenizer, OCCURRENCES + 1) == ()
