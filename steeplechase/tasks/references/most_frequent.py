"""References without a model: the most frequent tag of each word, and the most frequent label of all."""

from collections import Counter, defaultdict
from statistics import fmean

from steeplechase.tasks.labelled.scoring import score, score_tags
from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.labelled.without_value import without_value
from steeplechase.tasks.text_metrics import text_scores
from steeplechase.tasks.tokenizer import Tokenizer


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


def lead_scores(task: DownstreamTask, examples: Examples) -> dict[str, float]:
    """Return the dev scores, times 100, of as many first words of each source as a train target has on average."""
    words = round(fmean(len(str(example.second).split()) for example in examples.train))
    leads = [" ".join(example.first.split()[:words]) for example in examples.dev]
    return _values(task, leads, [str(example.second) for example in examples.dev])


def round_trip_scores(task: DownstreamTask, examples: Examples, tokenizer: Tokenizer) -> dict[str, float]:
    """Return the dev scores, times 100, of the targets encoded and decoded; less than 100 where text is lost."""
    targets = [str(example.second) for example in examples.dev]
    written = [tokenizer.decode(tokens) for tokens in tokenizer.encode(targets)]
    return _values(task, written, targets)


def _values(task: DownstreamTask, texts: list[str], targets: list[str]) -> dict[str, float]:
    return {metric: score.value for metric, score in text_scores(task.metrics, texts, targets).items()}
