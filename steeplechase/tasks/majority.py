"""Scores of the most frequent train label on dev: chance of a task whose chance level depends on its examples."""

from collections import Counter

from steeplechase.tasks.labelled.scoring import score, score_tags
from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.labelled.without_value import without_value


def majority_score(task: DownstreamTask, examples: Examples) -> float | None:
    """Return the primary metric, times 100, if every prediction is the most frequent label or tag of train.

    Of a multiple choice the mean over all constant answers, of values the correlation of a constant; None for spans,
    for targets that are texts, and where the dev examples give the metric no value.
    """
    if task.form in ("span", "text_pair"):
        return None
    if task.form == "choice":
        return 100 / len(task.labels)
    if task.value_range is not None:
        return None if without_value(task, [float(example.value or 0.0) for example in examples.dev]) else 0.0
    dev = [tag for example in examples.dev for tag in example.tags or [example.label or 0]]
    train = Counter(tag for example in examples.train for tag in example.tags or [example.label or 0])
    constant = [min(train, key=lambda label: (-train[label], label))] * len(dev)
    if task.form != "tags":
        return score(task, constant, dev).get(task.metrics[0])
    sentences = [number for number, example in enumerate(examples.dev) for _ in example.tags]
    return score_tags(task, constant, dev, sentences).get(task.metrics[0])
