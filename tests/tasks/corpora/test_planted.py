"""Planted corpora: what they plant is there and nothing else is, and the same declaration gives the same text."""

from collections import defaultdict
from itertools import pairwise

import pytest

from steeplechase.tasks.corpora.planted import PlantedCorpus, PlantedCycle, PlantedPairs, made_up_words
from steeplechase.tasks.documentation.sentences import sentences, with_neighbours_swapped
from steeplechase.tasks.progress import silent

CORPORA: tuple[PlantedCorpus, ...] = (PlantedCycle(document_count=60), PlantedPairs(document_count=60))
every_corpus = pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.kind)


def texts(corpus: PlantedCorpus) -> list[str]:
    return [document.text for document in corpus.documents(silent)]


def words_of(sentence: str) -> list[str]:
    return sentence.lower().rstrip(".").split(" ")


@every_corpus
def test_a_document_is_a_function_of_the_declaration_and_its_number(corpus: PlantedCorpus) -> None:
    whole = texts(corpus)
    assert whole == texts(corpus)
    assert len(set(whole)) == len(whole)
    assert texts(corpus.model_copy(update={"document_count": 20})) == whole[:20]
    other = corpus.model_copy(update={"seed": 2})
    assert texts(other) != whole
    assert other.inputs() != corpus.inputs()


@every_corpus
def test_tasks_find_every_sentence_and_can_swap_its_words(corpus: PlantedCorpus) -> None:
    found = [sentence for text in texts(corpus) for sentence in sentences(text)]
    assert len(found) == corpus.document_sentences * len(texts(corpus))
    assert all(with_neighbours_swapped(sentence) for sentence in found)
    assert len({word for sentence in found for word in words_of(sentence)}) == corpus.word_count


def test_classes_follow_each_other_in_a_cycle_and_words_of_a_class_are_random() -> None:
    corpus = PlantedCycle(document_count=60)
    words = made_up_words(corpus.word_count)
    after = defaultdict(set)
    for text in texts(corpus):
        for sentence in sentences(text):
            numbers = [words.index(word) for word in words_of(sentence)]
            classes = [number // corpus.class_words for number in numbers]
            assert classes == [(classes[0] + place) % corpus.classes for place in range(corpus.sentence_words)]
            for one, other in pairwise(numbers):
                after[one].add(other)
    assert {len(following) for following in after.values()} == {corpus.class_words}


def test_the_first_word_of_a_pair_follows_from_the_second_and_not_from_those_before() -> None:
    corpus = PlantedPairs(document_count=60)
    partners, before = defaultdict(set), defaultdict(set)
    for text in texts(corpus):
        for sentence in sentences(text):
            words = words_of(sentence)
            for first, second in zip(words[::2], words[1::2], strict=True):
                partners[second].add(first)
            for last, first in zip(words[1::2], words[2::2], strict=False):
                before[last].add(first)
    assert {len(first) for first in partners.values()} == {1}
    assert {len(first) for first in before.values()} == {corpus.pair_words}
