"""How tasks are taught beside how the release teaches them, task by task: told in words, and where the two differ.

The release's values are `fine_tuning` of `search_space/released/papers.toml`. A value that is searched for stands
beside what the paper searched, any other beside the release's default.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from configuration.fine_tuning_runs import combinations_of, is_frozen, settings_of
from search_space.released.differences import Difference
from search_space.released.papers import published
from tasks.downstream import find_task, task_names

if TYPE_CHECKING:
    from configuration.fine_tuning import FineTuning

COUNTS = ("train_examples", "dev_examples")
ALL = "all"
SMALL, BASE = "small", "base"
"""The sizes that the release fine-tunes at rates of their own; its medium-small model is a small one here."""


@dataclass(frozen=True)
class ReleasedFineTuning:
    """Tasks that are taught in one way."""

    tasks: tuple[str, ...]
    told: str
    departures: tuple[Difference, ...]


def size_of(model: str | None) -> str:
    """Return the size that a released model is fine-tuned as; small where no model is known."""
    return BASE if str(model).endswith(f"-{BASE}") else SMALL


def fine_tuning_differences(tuning: "FineTuning", task: str, size: str) -> tuple[Difference, ...]:
    """Return where a task is taught otherwise than by the release, or searched over other values than the paper's.

    Nowhere for a task on the frozen encoder, which the release does not have.
    """
    return () if is_frozen(task) else tuple(_departures(tuning, task, size))


def released_fine_tunings(tuning: "FineTuning", size: str) -> tuple[ReleasedFineTuning, ...]:
    """Return every way in which tasks are taught, with the tasks that are taught so."""
    found: dict[tuple[str, tuple[Difference, ...]], tuple[str, ...]] = {}
    for task in tuning.tasks:
        key = _told(tuning, task), fine_tuning_differences(tuning, task, size)
        found[key] = (*found.get(key, ()), task)
    return tuple(ReleasedFineTuning(tasks, *key) for key, tasks in found.items())


def _departures(tuning: "FineTuning", task: str, size: str) -> Iterator[Difference]:
    settings, searched = settings_of(tuning, task), _searched(tuning, task)
    for name, there in published().fine_tuning_settings(task, size).items():
        words, here = name.replace("_", " "), getattr(settings, name)
        if name in searched:
            asked = published().fine_tuning["searched"][name]
            if set(searched[name]) != set(asked):
                yield Difference(words, _one_of(searched[name]), _one_of(asked))
        elif name == "swap_pairs":
            if _swapped(settings, task) != there:
                yield Difference(words, str(here), str(there))
        elif here != there:
            yield Difference(words, str(here), str(there))
    if task in task_names() and find_task(task).files is not None:
        for name in COUNTS:
            if (most := getattr(settings, name)) is not None:
                yield Difference(name.replace("_", " "), f"{most:,} at most", ALL)


def _searched(tuning: "FineTuning", task: str) -> Mapping[str, tuple[object, ...]]:
    """Return the values of every axis that is searched on a task."""
    found: dict[str, tuple[object, ...]] = {}
    for combination in combinations_of(tuning, task):
        for name, value in combination.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), value)))
    return found


def _swapped(settings: "FineTuning", task: str) -> bool:
    return settings.swap_pairs and task in task_names() and find_task(task).unordered


def _layer_rates(decay: float) -> str:
    return "no layer-wise learning-rate decay" if decay == 1 else f"layer-wise learning-rate decay {decay:g}"


def _told(tuning: "FineTuning", task: str) -> str:
    settings, searched = settings_of(tuning, task), _searched(tuning, task)
    if is_frozen(task):
        method = find_task(task).method.replace("_", " ")
        return f"{method}, no weight trained, sequences of {settings.sequence_length} tokens"

    def value(name: str) -> str:
        return _one_of(searched[name]) if name in searched else f"{getattr(settings, name):g}"

    epochs = value("epochs")
    batches = f"batches of {settings.batch_examples} x {settings.sequence_length} tokens"
    parts = [
        f"{epochs} epoch{'' if epochs == '1' else 's'} of {batches}",
        f"peak learning rate {value('peak_learning_rate')} after {settings.warmup_share:.0%} of the updates",
        _layer_rates(settings.layer_rate_decay),
        f"weight decay {value('weight_decay')}",
        f"dropout {settings.dropout:g}",
        *(["pairs swapped too"] if _swapped(settings, task) else []),
    ]
    if searched and tuning.search is not None:
        parts.append(f"chosen on {tuning.search.choose_on.replace('_', ' ')}")
    return ", ".join(parts)


def _one_of(values: Iterable[object]) -> str:
    """Return the values in rising order, so that two lists of the same are told alike."""
    numbers = sorted(float(str(value)) for value in values)
    return f"one of {', '.join(f'{number:g}' for number in numbers)}"
