"""The pilot of a scale: which tasks separate a trained encoder from every reference.

A comparison on a task where nothing exceeds what is known without pretraining lacks assay sensitivity (ICH E10, 2000,
section 1.5). The rule of a pilot: a task enters a scale if an arm exceeds chance, the bag of words, the n-gram model,
the rules of extractive questions and the untrained encoder; that of a report is on the mean over all arms
(`task_standing.py`). The standard deviation is pooled over the arms and the untrained encoders, as pilots have few
seeds; the level is corrected for the number of arms (Bonferroni), and not for that of references, because all of them
must be exceeded (Berger 1982, 10.2307/1270797).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from reports.number_format import UNKNOWN, fixed
from reports.section import Content, Section, number_text
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, shown, words
from steeplechase.analysis.difference import CONFIDENCE
from steeplechase.analysis.distributions import t_quantile
from steeplechase.ledger.task_references import (
    BAG_OF_WORDS,
    CHANCE,
    NGRAM,
    TITLES,
    UNTRAINED_ENCODER,
    TaskReferences,
    references_of,
)
from steeplechase.ledger.task_standing import pooled

TITLE = "Pilot: which tasks separate trained encoders from references"
DECIMALS = 1
ALWAYS_SHOWN = frozenset({CHANCE, BAG_OF_WORDS, NGRAM, UNTRAINED_ENCODER})


@dataclass(frozen=True)
class PilotedArm:
    """An arm on one task, against the task's references."""

    task: TaskReferences
    arm: str
    n: int
    mean: float
    low: float | None
    high: float | None
    """95% interval of the mean over seeds, corrected for the number of arms; None where no spread is known."""
    exceeded: tuple[str, ...]
    """The references whose interval of the difference lies above 0."""

    @property
    def qualifies(self) -> bool | None:
        """Whether every reference is exceeded; None where no spread is known or there is no untrained encoder."""
        if self.low is None or not self.task.untrained:
            return None
        return set(self.exceeded) == set(self.task.known)


def pilot_of(results: Results) -> tuple[PilotedArm, ...]:
    """Return every arm on every task that it has scores on, in the order of the tasks' names and of the table."""
    references = references_of(results.snapshot.shared, results.primary, results.tasks)
    return tuple(
        piloted for name in results.tasks if name in references for piloted in _of_task(results, references[name])
    )


def qualifying_tasks(piloted: Iterable[PilotedArm]) -> tuple[str, ...]:
    """Return the tasks on which an arm qualifies, sorted."""
    return tuple(sorted({one.task.task for one in piloted if one.qualifies}))


def _of_task(results: Results, references: TaskReferences) -> Iterable[PilotedArm]:
    values = {
        arm.name: [*results.measured_values.get(arm.name, {}).get(references.task, {}).values()]
        for arm in results.arms
    }
    values = {arm: sample for arm, sample in values.items() if sample}
    spread, degrees = pooled([*values.values(), references.untrained])
    for arm, sample in values.items():
        mean, width = fmean(sample), None
        if spread is not None:
            width = spread * float(t_quantile((1 - CONFIDENCE) / len(values), degrees))
        yield PilotedArm(
            task=references,
            arm=arm,
            n=len(sample),
            mean=mean,
            low=None if width is None else mean - width / len(sample) ** 0.5,
            high=None if width is None else mean + width / len(sample) ** 0.5,
            exceeded=() if width is None else tuple(_exceeded(references, mean, len(sample), width)),
        )


def _exceeded(references: TaskReferences, mean: float, n: int, width: float) -> Iterable[str]:
    for name, reference in references.known.items():
        variance = 1 / n + (1 / len(references.untrained) if name == UNTRAINED_ENCODER else 0.0)
        if mean - reference > width * variance**0.5:
            yield name


def _row(piloted: PilotedArm) -> Row:
    known = piloted.task.known
    return {
        "task": piloted.task.task,
        "metric": piloted.task.metric,
        "arm": piloted.arm,
        "n": piloted.n,
        "mean": piloted.mean,
        "low": piloted.low,
        "high": piloted.high,
        **{name: known.get(name) for name in TITLES},
        "untrained_n": len(piloted.task.untrained),
        "exceeded": ", ".join(TITLES[name] for name in piloted.exceeded),
        "qualifies": piloted.qualifies,
    }


def pilot_grid(results: Results) -> tuple[Grid, ...]:
    """Return the table as people read it, none where no task has a score."""
    piloted = results.once(pilot_of)
    some = {name for one in piloted for name in one.task.known} | ALWAYS_SHOWN

    def known(name: str, one: PilotedArm) -> str:
        return number_text(one.task.known.get(name), DECIMALS)

    columns = [
        words("task", lambda one: one.task.task),
        *(words("arm", lambda one: one.arm), Column("mean [95%] (n)", read=_mean)),
        *(Column(title, read=partial(known, name)) for name, title in TITLES.items() if name in some),
        words("verdict", _verdict),
    ]
    return shown("task_pilot", TITLE, columns, piloted, _notes(piloted))


def _mean(one: PilotedArm) -> str:
    bounds = (one.low, one.high)
    interval = ", ".join(fixed(bound, DECIMALS) for bound in bounds if bound is not None) or UNKNOWN
    return f"{fixed(one.mean, DECIMALS)} [{interval}] ({one.n})"


def _verdict(one: PilotedArm) -> Cell:
    missed = [TITLES[name] for name in one.task.known if name not in one.exceeded]
    words_of = {True: "qualifies", False: f"not above {', '.join(missed)}", None: UNKNOWN}
    return Cell(words_of[one.qualifies], strong=bool(one.qualifies))


def _notes(piloted: Sequence[PilotedArm]) -> Iterator[str]:
    yield f"Qualifying tasks: {', '.join(qualifying_tasks(piloted)) or 'none'}."
    yield (
        "A task qualifies where an arm exceeds every reference: the interval of the difference lies above 0. The "
        "standard deviation is pooled over arms and untrained encoders, the level corrected for the number of arms."
    )
    if any(not one.task.untrained for one in piloted):
        yield f"{UNKNOWN}: no untrained encoder was evaluated (fine_tuning.untrained_seeds), or no spread is known."


def pretraining_sentence(results: Results) -> str:
    """Return by task the best arm beside the untrained encoder and what is above it; empty without such encoders."""
    if not results.experiment.fine_tuning.untrained_seeds:
        return ""
    piloted = [one for one in results.once(pilot_of) if one.low is not None and one.task.untrained]
    best: dict[str, PilotedArm] = {}
    for one in piloted:
        task = one.task.task
        if UNTRAINED_ENCODER in one.exceeded and (task not in best or one.mean > best[task].mean):
            best[task] = one
    if not best:
        return "No arm is above the untrained encoder on any task." if piloted else ""
    tasks = "; ".join(map(_worth, best.values()))
    return f"Pretraining shows on {len(best)} of {len(results.tasks)} tasks: {tasks}."


def _worth(one: PilotedArm) -> str:
    known = one.task.known
    above = [f"{TITLES[name]} {fixed(known[name], DECIMALS)}" for name in known if known[name] > one.mean]
    more = f", below {' and '.join(above)}" if above else ""
    untrained = fixed(known[UNTRAINED_ENCODER], DECIMALS)
    return f"{one.task.task} ({one.arm} {fixed(one.mean, DECIMALS)}, untrained {untrained}{more})"


def _content(results: Results) -> Content:
    rows = map(_row, results.once(pilot_of))
    return Content(Table.of("task_pilot", rows).filled, pilot_grid(results))


SECTION = Section("task_pilot", _content, lambda results: bool(results.experiment.fine_tuning.untrained_seeds))
