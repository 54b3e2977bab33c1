"""The most frequent tag of each word: the reference of a linear probe, which knows words and no context."""

from collections import Counter, defaultdict

from steeplechase.tasks.labelled.scoring import score_tags
from steeplechase.tasks.labelled.task import DownstreamTask, Examples


def most_frequent_tag_scores(task: DownstreamTask, examples: Examples) -> dict[str, float]:
    """Return the dev scores, times 100, of tagging each word as most often in train, an unseen word as most are.

    Of equally frequent tags the first in the task's order counts.
    """
    seen: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for example in examples.train:
        for word, tag in zip(example.first.split(" "), example.tags, strict=True):
            seen[word][tag] += 1
    otherwise = _most_frequent(sum(seen.values(), Counter()))
    known = {word: _most_frequent(tags) for word, tags in seen.items()}
    predictions = [known.get(word, otherwise) for example in examples.dev for word in example.first.split(" ")]
    references = [tag for example in examples.dev for tag in example.tags]
    sentences = [number for number, example in enumerate(examples.dev) for _ in example.tags]
    return score_tags(task, predictions, references, sentences)


def _most_frequent(tags: Counter[int]) -> int:
    return min(tags, key=lambda tag: (-tags[tag], tag))
