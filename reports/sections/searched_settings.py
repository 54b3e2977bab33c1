"""Searched fine-tuning settings: the selected ones, the examples they were selected on, and selection bias."""

from collections.abc import Iterator
from typing import NamedTuple

from reports.section import Content, Section
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table
from steeplechase.configuration.metrics import SCORE, PrimaryMetric
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult, SearchChoice, finite
from steeplechase.ledger.trial_history import chosen_records

MARK = " ‡"


class _Selected(NamedTuple):
    """A fine-tuning selected among searched settings."""

    arm: str
    seed: int
    """The pretraining seed."""
    combinations: int
    label: str
    result: FineTuneResult
    choice: SearchChoice


def _selected(results: Results) -> Iterator[_Selected]:
    """Yield every fine-tuning selected among searched settings."""
    labels = results.snapshot.labels
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for record, result in with_results(chosen_records(history.records, labels), FineTuneResult):
                if result.choice is not None:
                    cell = StageLabel.parse(record.label).cell
                    combinations = sum(StageLabel.parse(label).cell == cell for label in labels)
                    yield _Selected(arm.name, history.trial.seed, combinations, record.label, result, result.choice)


def _every(results: Results) -> tuple[_Selected, ...]:
    return tuple(_selected(results))


def _row(selected: _Selected, primary: PrimaryMetric) -> Row:
    result, choice = selected.result, selected.choice
    return {
        "arm": selected.arm,
        "seed": selected.seed,
        "task": result.task,
        "fine_tuning_seed": result.seed,
        "combinations": selected.combinations,
        "settings": StageLabel.parse(selected.label).settings,
        "choice_score": finite(choice.score),
        "choice_examples": choice.n,
        "score": result.score(primary(result.task)),
        "examples": choice.reported,
        "chosen_on": choice.chosen_on,
    }


def tasks_selected_on_dev(results: Results) -> frozenset[str]:
    """Return the tasks whose settings were selected on the same examples as are reported."""
    return frozenset(selected.result.task for selected in results.once(_every) if selected.choice.chosen_on == "dev")


def title_of(metric: Metric, selected_on_dev: frozenset[str]) -> str:
    """Return a metric's title, marked if its settings were selected on the reported examples."""
    marked = bool(selected_on_dev) if metric.name == SCORE else metric.task in selected_on_dev
    return metric.title + MARK if marked else metric.title


def settings_legend(results: Results) -> Iterator[str]:
    """Yield the meaning of the mark if a title has it."""
    if tasks_selected_on_dev(results):
        yield f"{MARK.strip()}: settings were selected on the reported dev examples, which biases the score upwards."


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    by_task: dict[str, str] = {}
    for selected in results.once(_every):
        by_task.setdefault(selected.result.task, _search_text(selected.combinations, selected.choice))
    if by_task:
        texts = "; ".join(f"{task}: {by_task[task]}" for task in sorted(by_task))
        yield "Fine-tuning settings", f"selected per trial and fine-tuning seed. {texts}"


def _search_text(combinations: int, choice: SearchChoice) -> str:
    names = " x ".join(name.replace("_", " ") for name in choice.searched)
    best = f"the best of {combinations} ({names})"
    if choice.chosen_on == "dev":
        return f"{best}, selected and reported on the same {choice.n} dev examples"
    halves = f"selected on {choice.n} dev examples and reported on the other {choice.reported}"
    return f"{best}, {halves}, split by a hash of their text"


def _content(results: Results) -> Content:
    primary = results.primary
    rows = (_row(selected, primary) for selected in results.once(_every))
    return Content(Table.of("settings", rows).filled)


SECTION = Section("settings", _content, conditions=_conditions)
