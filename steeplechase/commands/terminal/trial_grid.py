"""Compact state of the trials: a mark per arm and seed if it fits, else (and in logs) the counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from steeplechase.ledger.records import TrialRow, TrialStatus

TrialStatuses = Sequence[tuple[TrialRow, TrialStatus]]

ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED, TrialStatus.FAILED)
MARKS = {
    TrialStatus.FINISHED: ("✓", "+", "green"),
    TrialStatus.RUNNING: ("▶", ">", "cyan"),
    TrialStatus.WAITING: ("·", ".", "dim"),
    TrialStatus.STOPPED: ("■", "-", "yellow"),
    TrialStatus.DIVERGED: ("∞", "~", "magenta"),
    TrialStatus.FAILED: ("✗", "!", "red"),
}
"""By status: the mark, the ASCII mark, the colour."""
NAME_LETTERS, GAP = 30, 3


def counts(statuses: TrialStatuses) -> str:
    """Return the numbers of trials by status, in one line."""
    counter = Counter(status for _, status in statuses)
    parts = [f"{counter[status]} {status.value}" for status in MARKS if counter[status]]
    ended = sum(counter[status] for status in ENDED)
    return f"{ended} of {len(statuses)} ended ({', '.join(parts)})"


def trial_grid(statuses: TrialStatuses, width: int, height: int, ascii_only: bool) -> Group | Text:
    """Return the arms, each with a mark per seed, in as many columns as fit; the counts if they do not fit."""
    arms: dict[str, dict[int, TrialStatus]] = {}
    for row, status in statuses:
        arms.setdefault(row.arm, {})[row.seed] = status
    letters = min(NAME_LETTERS, max(map(len, arms), default=0))
    wide = letters + 1 + max((len(seeds) for seeds in arms.values()), default=0)
    columns = max(1, (width + GAP) // (wide + GAP))
    lines = -(-len(arms) // columns)
    if lines + 1 > height or wide > width:
        return Text(f"trials: {counts(statuses)}")
    table = Table.grid(padding=(0, GAP, 0, 0))
    names = [*arms]
    for line in range(lines):
        table.add_row(*(_arm(name, arms[name], letters, ascii_only) for name in names[line::lines]))
    return Group(_legend(arms.values(), ascii_only), table)


def _arm(name: str, seeds: Mapping[int, TrialStatus], letters: int, ascii_only: bool) -> Text:
    shown = name if len(name) <= letters else f"{name[: letters - 1]}{'.' if ascii_only else '…'}"
    text = Text(f"{shown:<{letters}} ")
    for seed in sorted(seeds):
        text.append(*_mark(seeds[seed], ascii_only))
    return text


def _legend(arms: Iterable[Mapping[int, TrialStatus]], ascii_only: bool) -> Text:
    """Return the seeds, if all arms have the same, and a legend of the marks in use."""
    of_arms = [*arms]
    seed_sets = {tuple(sorted(seeds)) for seeds in of_arms}
    seeds = " ".join(map(str, min(seed_sets))) if len(seed_sets) == 1 else ""
    text = Text(f"seeds {seeds} " if len(seeds) > 1 else "trials ", style="dim", no_wrap=True, overflow="crop")
    statuses_in_use = {status for seeds in of_arms for status in seeds.values()}
    for status in MARKS:
        if status in statuses_in_use:
            text.append(" ").append(*_mark(status, ascii_only)).append(f" {status.value} ")
    return text


def _mark(status: TrialStatus, ascii_only: bool) -> tuple[str, str]:
    mark, plain, colour = MARKS[status]
    return (plain if ascii_only else mark), colour
