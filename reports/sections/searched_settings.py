"""Settings of fine-tuning that were searched for: what was chosen, by what, and where that flatters the scores."""

from collections.abc import Iterator, Mapping

from configuration.metrics import SCORE, PrimaryMetric
from configuration.stage_label import StageLabel
from foundation.schema import JsonValue
from ledger.json_values import number, numbers
from ledger.records import Record
from ledger.selected_settings import choice_of, chosen_records
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, table

MARK = " ‡"
COLUMNS = "arm seed task fine_tuning_seed combinations settings choice_score choice_examples score examples chosen_on"


def settings_table(results: Results) -> Table:
    """Return one row per trial, task and fine-tuning seed that settings were searched for."""
    return table("settings", COLUMNS, (_row(*found, results.primary) for found in _chosen(results)))


def _chosen(results: Results) -> Iterator[tuple[str, int, int, Record]]:
    """Yield arm, pretraining seed, combinations and the chosen record."""
    labels = results.snapshot.labels
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for record in chosen_records(history.records, labels):
                if choice_of(record):
                    cell = StageLabel.parse(record.label).cell
                    combinations = sum(StageLabel.parse(label).cell == cell for label in labels)
                    yield arm.name, history.trial.seed, combinations, record


def _row(arm: str, seed: int, combinations: int, record: Record, primary: PrimaryMetric) -> Row:
    choice, task = choice_of(record), str(record.result["task"])
    return {
        "arm": arm,
        "seed": seed,
        "task": task,
        "fine_tuning_seed": record.result["seed"],
        "combinations": combinations,
        "settings": StageLabel.parse(record.label).settings,
        "choice_score": number(choice.get("score")),
        "choice_examples": choice.get("n"),
        "score": numbers(record.result.get("scores")).get(primary(task)),
        "examples": choice.get("reported"),
        "chosen_on": choice.get("chosen_on"),
    }


def flattered_tasks(results: Results) -> frozenset[str]:
    """Return the tasks whose settings were chosen by the very examples that they are reported on."""
    every = ((str(record.result["task"]), choice_of(record)) for _, _, _, record in _chosen(results))
    return frozenset(task for task, choice in every if choice.get("chosen_on") == "dev")


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
    for _, _, combinations, record in _chosen(results):
        found.setdefault(str(record.result["task"]), _search_text(combinations, choice_of(record)))
    if found:
        texts = "; ".join(f"{task}: {found[task]}" for task in sorted(found))
        yield "Fine-tuning settings", f"chosen per trial and fine-tuning seed. {texts}"


def _search_text(combinations: int, choice: Mapping[str, JsonValue]) -> str:
    searched = choice.get("searched")
    names = " x ".join(name.replace("_", " ") for name in searched) if isinstance(searched, dict) else ""
    best = f"the best of {combinations} ({names})"
    if choice.get("chosen_on") == "dev":
        return f"{best}, chosen and reported on the same {choice.get('n')} dev examples"
    halves = f"chosen on {choice.get('n')} dev examples and reported on the other {choice.get('reported')}"
    return f"{best}, {halves}, halved by a hash of their text"


def _content(evidence: Evidence) -> Content:
    return Content(with_rows(settings_table(evidence.results)))


SECTION = Section("settings", _content)
