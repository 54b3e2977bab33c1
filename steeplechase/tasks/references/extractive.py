"""References of extractive questions: answers by rules that learn nothing and need no model.

The sentence with the most words of the question is the first stage of the sliding window of Richardson et al. 2013
(aclanthology.org/D13-1020), which Rajpurkar et al. 2016 (arXiv 1606.05250, section 4) give beside SQuAD's model. A
model of spans that does not exceed these rules has not been shown to read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steeplechase.tasks.corpora.prose import FUNCTION_WORDS
from steeplechase.tasks.labelled.encoding import NO_OFFSET, EncodedExamples
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.references import (
    BEHIND_QUESTION,
    BEST_SENTENCE,
    FIRST_NAME,
    NEAREST_NAME,
    NO_ANSWER,
    WHOLE_TEXT,
)
from steeplechase.tasks.tokens import BETWEEN_SENTENCES

NO_ANSWER_TEXT = ""

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Z][\w’'-]*(?:[ -](?:of |the )?[A-Z][\w’'-]*)*|[$£€]?\d(?:[\d.,:]*\d)?%?")
"""Capitalised words in a row, or a number."""

Scores = Mapping[str, float]
"""By metric, from 0 to 100."""
Score = Callable[[Sequence[str]], Scores]
"""From one answer per question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the text that a model sees of its context."""

    question: str
    context: str


def visible(examples: Sequence[Example], encoded: EncodedExamples) -> Iterator[Asked]:
    """Yield the questions of spans with their contexts up to the last token that truncation left."""
    for number, example in enumerate(examples):
        ends = encoded.offsets[number, :, 1]
        last = int(ends.max(initial=NO_OFFSET))
        yield Asked(example.first, (example.second or "")[: max(last, 0)])


def extractive_scores(asked: Sequence[Asked], score: Score, unanswerable: bool = False) -> dict[str, Scores]:
    """Return the scores of every rule's answers; with `unanswerable` questions also of never giving an answer."""
    answers = [answers_by_rule(each) for each in asked]
    found = {rule: score([each[rule] for each in answers]) for rule in (answers[0] if answers else ())}
    return found | ({NO_ANSWER: score([NO_ANSWER_TEXT] * len(asked))} if unanswerable else {})


def answers_by_rule(asked: Asked) -> dict[str, str]:
    """Return the answer of each rule to a question; empty where a rule finds none in the context.

    They are the whole text; its sentence with the most words of the question; all text behind the last of these
    words there; the first name or number, whatever the question; and of the names and numbers of that sentence
    which the question does not have, the one nearest a word of the question.
    """
    context, asked_for = asked.context, _content_words(asked.question)
    start, end = _best_sentence(context, asked_for)
    sentence = context[start:end]
    shared = [word for word in _WORD.finditer(sentence) if word.group().lower() in asked_for]
    places = [word.start() for word in shared]
    new = [name for name in _names(sentence) if asked_for.isdisjoint(_words(name[1]))]
    nearest = sorted(new, key=lambda name: min((abs(name[0] - place) for place in places), default=0))
    return {
        WHOLE_TEXT: context,
        BEST_SENTENCE: sentence.strip(),
        BEHIND_QUESTION: context[start + shared[-1].end() :].strip() if shared else context,
        FIRST_NAME: next((name for _, name in _names(context)), NO_ANSWER_TEXT),
        NEAREST_NAME: next((name for _, name in nearest), NO_ANSWER_TEXT),
    }


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _content_words(question: str) -> set[str]:
    """Return the words of a question without function words; all of them where it has no others."""
    words = _words(question)
    return words - FUNCTION_WORDS or words


def _best_sentence(context: str, words: set[str]) -> tuple[int, int]:
    """Return start and end of the sentence or line with the most of these words, the first of equal ones."""
    cuts = [0, *(gap.end() for gap in BETWEEN_SENTENCES.finditer(context)), len(context)]
    bounds = [*pairwise(cuts)]
    return max(bounds, key=lambda bound: len(words & _words(context[slice(*bound)])))


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Yield place and text of names and numbers; function words that begin a sentence are no part of a name."""
    for match in _NAME.finditer(text):
        start, name = match.start(), match.group()
        while name and name.partition(" ")[0].lower() in FUNCTION_WORDS:
            first, _, name = name.partition(" ")
            start += len(first) + 1
        if name:
            yield start, name
