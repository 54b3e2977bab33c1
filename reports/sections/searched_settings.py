"""Settings of fine-tuning that were searched for: what was chosen, by what, and where that flatters the scores."""

from collections.abc import Iterator
from typing import NamedTuple

from configuration.metrics import SCORE, PrimaryMetric
from configuration.stage_label import StageLabel
from ledger.records import with_results
from ledger.selected_settings import chosen_records
from ledger.stage_results import FineTuneResult, SearchChoice, finite
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, table

MARK = " ‡"
COLUMNS = "arm seed task fine_tuning_seed combinations settings choice_score choice_examples score examples chosen_on"


class _Chosen(NamedTuple):
    """A fine-tuning that was chosen among searched settings."""

    arm: str
    seed: int
    """The pretraining seed."""
    combinations: int
    label: str
    result: FineTuneResult
    choice: SearchChoice


def settings_table(results: Results) -> Table:
    """Return one row per trial, task and fine-tuning seed that settings were searched for."""
    return table("settings", COLUMNS, (_row(found, results.primary) for found in _chosen(results)))


def _chosen(results: Results) -> Iterator[_Chosen]:
    """Yield every fine-tuning that was chosen among searched settings."""
    labels = results.snapshot.labels
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for record, result in with_results(chosen_records(history.records, labels), FineTuneResult):
                if result.choice is not None:
                    cell = StageLabel.parse(record.label).cell
                    combinations = sum(StageLabel.parse(label).cell == cell for label in labels)
                    yield _Chosen(arm.name, history.trial.seed, combinations, record.label, result, result.choice)


def _row(found: _Chosen, primary: PrimaryMetric) -> Row:
    result, choice = found.result, found.choice
    return {
        "arm": found.arm,
        "seed": found.seed,
        "task": result.task,
        "fine_tuning_seed": result.seed,
        "combinations": found.combinations,
        "settings": StageLabel.parse(found.label).settings,
        "choice_score": finite(choice.score),
        "choice_examples": choice.n,
        "score": result.score(primary(result.task)),
        "examples": choice.reported,
        "chosen_on": choice.chosen_on,
    }


def flattered_tasks(results: Results) -> frozenset[str]:
    """Return the tasks whose settings were chosen by the very examples that they are reported on."""
    return frozenset(one.result.task for one in _chosen(results) if one.choice.chosen_on == "dev")


def title_of(metric: Metric, flattered: frozenset[str]) -> str:
    """Return a metric's title, marked where its settings were chosen on what it is reported on."""
    marked = bool(flattered) if metric.name == SCORE else metric.name.partition(":")[0] in flattered
    return metric.title + MARK if marked else metric.title


def settings_legend(results: Results) -> Iterator[str]:
    """Yield what the mark means, where a title carries it."""
    if flattered_tasks(results):
        yield f"{MARK.strip()}: settings chosen by the same dev examples that are reported, which flatters the score."


def settings_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the line of the footer; none where nothing was searched for."""
    found: dict[str, str] = {}
    for chosen in _chosen(results):
        found.setdefault(chosen.result.task, _search_text(chosen.combinations, chosen.choice))
    if found:
        texts = "; ".join(f"{task}: {found[task]}" for task in sorted(found))
        yield "Fine-tuning settings", f"chosen per trial and fine-tuning seed. {texts}"


def _search_text(combinations: int, choice: SearchChoice) -> str:
    names = " x ".join(name.replace("_", " ") for name in choice.searched)
    best = f"the best of {combinations} ({names})"
    if choice.chosen_on == "dev":
        return f"{best}, chosen and reported on the same {choice.n} dev examples"
    halves = f"chosen on {choice.n} dev examples and reported on the other {choice.reported}"
    return f"{best}, {halves}, halved by a hash of their text"


def _content(evidence: Evidence) -> Content:
    return Content(with_rows(settings_table(evidence.results)))


SECTION = Section("settings", _content)
