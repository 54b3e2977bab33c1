"""F1 of named entities as conlleval computes it: an entity is right if its words and its kind are.

Source: Tjong Kim Sang and De Meulder 2003, aclanthology.org/W03-0419; tags as in BIO, of either convention: an entity
begins at a B, and at an I that follows another kind or none.
"""

from collections.abc import Iterator, Sequence

OUTSIDE = "O"

Entity = tuple[int, int, int, str]
"""Sentence, first word, word behind the last, kind."""


def entities(tags: Sequence[str], sentences: Sequence[int]) -> Iterator[Entity]:
    """Yield the entities of tagged words; an entity ends with its sentence."""
    kind, first = "", 0
    for place, (tag, sentence) in enumerate(zip(tags, sentences, strict=True)):
        beginning, _, own = tag.partition("-")
        goes_on = kind and beginning == "I" and own == kind and sentence == sentences[place - 1]
        if kind and not goes_on:
            yield sentences[first], first, place, kind
        if not goes_on:
            kind, first = own, place
    if kind:
        yield sentences[first], first, len(tags), kind


def entity_scores(
    predictions: Sequence[str], references: Sequence[str], sentences: Sequence[int]
) -> dict[str, float]:
    """Return precision, recall and F1 over all entities, from 0 to 1; 0 where a denominator is 0."""
    predicted, expected = {*entities(predictions, sentences)}, {*entities(references, sentences)}
    right = len(predicted & expected)
    return {
        "entity_precision": right / len(predicted) if predicted else 0.0,
        "entity_recall": right / len(expected) if expected else 0.0,
        "entity_f1": 2 * right / (len(predicted) + len(expected)) if right else 0.0,
    }
