"""Precision, recall and F1 of named entities as in conlleval: an entity is correct if its words and its type are.

Source: Tjong Kim Sang and De Meulder 2003, aclanthology.org/W03-0419. Tags are IOB1 or IOB2: an entity begins at a B,
and at an I that follows another type or no entity.
"""

from collections.abc import Iterator, Sequence

Entity = tuple[int, int, int, str]
"""Sentence, first word, one past the last word, type."""


def entities(tags: Sequence[str], sentences: Sequence[int]) -> Iterator[Entity]:
    """Yield the entities of tagged words, of which `sentences` has the sentence; an entity ends with its sentence."""
    entity_type, first = "", 0
    for word, (tag, sentence) in enumerate(zip(tags, sentences, strict=True)):
        prefix, _, tag_type = tag.partition("-")
        continues = entity_type and prefix == "I" and tag_type == entity_type and sentence == sentences[word - 1]
        if entity_type and not continues:
            yield sentences[first], first, word, entity_type
        if not continues:
            entity_type, first = tag_type, word
    if entity_type:
        yield sentences[first], first, len(tags), entity_type


def entity_scores(
    predictions: Sequence[str], references: Sequence[str], sentences: Sequence[int]
) -> dict[str, float]:
    """Return precision, recall and F1 over all entities, from 0 to 1; 0 where a denominator is 0."""
    predicted, expected = {*entities(predictions, sentences)}, {*entities(references, sentences)}
    correct = len(predicted & expected)
    return {
        "entity_precision": correct / len(predicted) if predicted else 0.0,
        "entity_recall": correct / len(expected) if expected else 0.0,
        "entity_f1": 2 * correct / (len(predicted) + len(expected)) if correct else 0.0,
    }
