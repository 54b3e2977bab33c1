"""Fine-tuning settings as text, and their differences from the released ones, task by task.

The released values are `fine_tuning` in `search_space/released/systems/`. A searched setting is compared with the
values that the paper searched, any other with the release's default.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search_space.released.differences import Difference
from search_space.released.papers import published
from steeplechase.configuration.fine_tuning_runs import combinations_of, is_frozen, settings_of

if TYPE_CHECKING:
    from steeplechase.configuration.fine_tuning import FineTuning

COUNTS = ("train_examples", "dev_examples")
ALL = "all"
SMALL, BASE = "small", "base"
"""The sizes with own learning rates in the release; its medium-small model counts as small."""


@dataclass(frozen=True)
class ReleasedFineTuning:
    """Tasks with the same settings and the same differences from the release."""

    tasks: tuple[str, ...]
    settings_text: str
    differences: tuple[Difference, ...]


def size_of(model: str | None) -> str:
    """Return the size whose released settings apply to a model; small if the model is unknown."""
    return BASE if str(model).endswith(f"-{BASE}") else SMALL


def fine_tuning_differences(tuning: "FineTuning", task: str, size: str | None) -> tuple[Difference, ...]:
    """Return the differences of a task's settings from the release's, and of searched values from the paper's.

    None for a task on the frozen encoder, which the release does not have, and none of another release's models,
    whose `size` is None.
    """
    return () if is_frozen(tuning, task) or size is None else tuple(_differences(tuning, task, size))


def settings_texts(tuning: "FineTuning", changes: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the tasks by the text of their settings, with the changes of an arm."""
    tasks: dict[str, tuple[str, ...]] = {}
    for task in tuning.tasks:
        text = _settings_text(tuning, task, changes)
        tasks[text] = (*tasks.get(text, ()), task)
    return tasks


def released_fine_tunings(tuning: "FineTuning", size: str | None) -> tuple[ReleasedFineTuning, ...]:
    """Return the distinct fine-tuning settings, each with its tasks."""
    grouped: dict[tuple[str, tuple[Difference, ...]], tuple[str, ...]] = {}
    for task in tuning.tasks:
        key = _settings_text(tuning, task, {}), fine_tuning_differences(tuning, task, size)
        grouped[key] = (*grouped.get(key, ()), task)
    return tuple(ReleasedFineTuning(tasks, *key) for key, tasks in grouped.items())


def _differences(tuning: "FineTuning", task: str, size: str) -> Iterator[Difference]:
    settings, searched = settings_of(tuning, task), _searched(tuning, task)
    for name, released in published().fine_tuning_settings(task, size).items():
        title, declared = name.replace("_", " "), getattr(settings, name)
        if name in searched:
            of_paper = published().fine_tuning["searched"][name]
            if set(searched[name]) != set(of_paper):
                yield Difference(title, _one_of(searched[name]), _one_of(of_paper))
        elif name == "swap_pairs":
            if _swapped(settings, task) != released:
                yield Difference(title, str(declared), str(released))
        elif declared != released:
            yield Difference(title, str(declared), str(released))
    if task in tuning.known_tasks and tuning.find(task).files is not None:
        for name in COUNTS:
            if (limit := getattr(settings, name)) is not None:
                yield Difference(name.replace("_", " "), f"{limit:,} at most", ALL)


def _searched(tuning: "FineTuning", task: str) -> Mapping[str, tuple[object, ...]]:
    """Return the values of every setting that is searched on a task."""
    searched: dict[str, tuple[object, ...]] = {}
    for combination in combinations_of(tuning, task):
        for name, value in combination.items():
            searched[name] = tuple(dict.fromkeys((*searched.get(name, ()), value)))
    return searched


def _swapped(settings: "FineTuning", task: str) -> bool:
    return settings.swap_pairs and task in settings.known_tasks and settings.find(task).unordered


def _layer_rates(decay: float) -> str:
    return "no layer-wise learning-rate decay" if decay == 1 else f"layer-wise learning-rate decay {decay:g}"


def _settings_text(tuning: "FineTuning", task: str, changes: Mapping[str, object]) -> str:
    settings = settings_of(tuning, task).model_copy(update=dict(changes))
    searched = {name: values for name, values in _searched(tuning, task).items() if name not in changes}
    if is_frozen(tuning, task):
        method = tuning.find(task).method.replace("_", " ")
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
    """Return the values as text, sorted, so that equal sets have equal texts."""
    numbers = sorted(float(str(value)) for value in values)
    return f"one of {', '.join(f'{number:g}' for number in numbers)}"
