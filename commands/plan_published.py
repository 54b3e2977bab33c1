"""What `plan` says beside the papers: how every arm is trained, and its cost and recipe against the published row's.

The FLOPs here are ELECTRA's count whatever `--flops` says, because that is how the published ones were counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.numbers import scientific
from runners.experiment import Experiment
from search_space.declaration import JsonValue
from search_space.departure import Departure, departures, recipe_told
from search_space.operations import CONVENTIONS
from search_space.presets import preset_of
from search_space.published import PublishedRow, published

ELECTRA = CONVENTIONS["electra"]
UNFOUND = "not found"


@dataclass(frozen=True)
class Beside:
    """One arm and the published row that it stands beside."""

    arm: str
    row: str
    published: PublishedRow
    parameters: int
    train_flops: int
    """By ELECTRA's count."""
    departures: tuple[Departure, ...]
    """From what the row was trained as; empty where that is not known."""


def besides(experiment: Experiment) -> tuple[Beside, ...]:
    """Return the arms that stand beside a published row, in the table's order."""
    paper = experiment.paper
    if paper is None or paper.table is None:
        return ()
    rows, tokens = published().tables[paper.table].rows, experiment.pretraining.tokens
    found = []
    for arm in experiment.arms:
        if arm.name in paper.rows:
            name = paper.rows[arm.name]
            released = preset_of(rows[name])
            flops = arm.candidate.train_flops(tokens, experiment.baseline.architecture, ELECTRA)
            gone = () if released is None else departures(arm.candidate, tokens, released)
            found.append(Beside(arm.name, name, rows[name], arm.candidate.architecture.parameters, flops, gone))
    return tuple(found)


def recipes(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    """Return every way of training in the experiment with the arms that are trained so."""
    found: dict[str, tuple[str, ...]] = {}
    for arm in experiment.arms:
        told = recipe_told(arm.candidate, experiment.pretraining.tokens)
        found[told] = (*found.get(told, ()), arm.name)
    return found


def lines(experiment: Experiment) -> Iterator[str]:
    """Yield what a terminal shows: the recipes, then a line for every published row."""
    told = recipes(experiment)
    for recipe, arms in told.items():
        yield f"{'every arm' if len(told) == 1 else ', '.join(arms)}: {recipe}"
    for beside in besides(experiment):
        row = beside.published
        parameters = UNFOUND if row.parameters is None else f"{row.parameters:,}"
        printed = row.printed_parameters and f"{row.printed_parameters} printed"
        flops = UNFOUND if row.train_flops is None else scientific(round(row.train_flops))
        costed = row.printed_train_flops and f"{row.printed_train_flops} printed"
        yield (
            f"{beside.arm} is the paper's {beside.row!r}: parameters {beside.parameters:,} ({printed or parameters}), "
            f"train FLOPs by ELECTRA's count {scientific(beside.train_flops)} ({costed or flops}); "
            f"departs in: {', '.join(map(str, beside.departures)) or 'nothing declared'}"
        )


def document(experiment: Experiment) -> JsonValue:
    """Return the same as plain data."""
    return {
        "recipes": [{"arms": [*arms], "recipe": recipe} for recipe, arms in recipes(experiment).items()],
        "rows": [
            {
                "arm": beside.arm,
                "row": beside.row,
                "source": published().sources[beside.published.source],
                "parameters": beside.parameters,
                "published_parameters": beside.published.parameters or beside.published.printed_parameters,
                "train_flops": beside.train_flops,
                "published_train_flops": beside.published.train_flops or beside.published.printed_train_flops,
                "departures": [str(each) for each in beside.departures],
            }
            for beside in besides(experiment)
        ],
    }
