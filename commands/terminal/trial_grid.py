"""Compact state of the trials: a mark per arm and seed if it fits, else (and in logs) the counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ledger.records import TrialRow, TrialStatus

Standings = Sequence[tuple[TrialRow, TrialStatus]]

ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED, TrialStatus.FAILED)
MARKS = {
    TrialStatus.FINISHED: ("✓", "+", "green"),
    TrialStatus.RUNNING: ("▶", ">", "cyan"),
    TrialStatus.WAITING: ("·", ".", "dim"),
    TrialStatus.STOPPED: ("■", "-", "yellow"),
    TrialStatus.DIVERGED: ("∞", "~", "magenta"),
    TrialStatus.FAILED: ("✗", "!", "red"),
}
"""By standing: the mark, the ASCII mark, the colour."""
NAME_LETTERS, GAP = 30, 3


def counts(standings: Standings) -> str:
    """Return the numbers of trials by standing, in one line."""
    found = Counter(standing for _, standing in standings)
    parts = [f"{found[standing]} {standing.value}" for standing in MARKS if found[standing]]
    ended = sum(found[standing] for standing in ENDED)
    return f"{ended} of {len(standings)} ended ({', '.join(parts)})"


def trial_grid(standings: Standings, width: int, height: int, ascii_only: bool) -> Group | Text:
    """Return the arms, each with a mark per seed, in as many columns as fit; the counts if they do not fit."""
    arms: dict[str, dict[int, TrialStatus]] = {}
    for row, standing in standings:
        arms.setdefault(row.arm, {})[row.seed] = standing
    letters = min(NAME_LETTERS, max(map(len, arms), default=0))
    wide = letters + 1 + max((len(seeds) for seeds in arms.values()), default=0)
    columns = max(1, (width + GAP) // (wide + GAP))
    lines = -(-len(arms) // columns)
    if lines + 1 > height or wide > width:
        return Text(f"trials: {counts(standings)}")
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
    every = {tuple(sorted(seeds)) for seeds in of_arms}
    seeds = " ".join(map(str, min(every))) if len(every) == 1 else ""
    text = Text(f"seeds {seeds} " if len(seeds) > 1 else "trials ", style="dim", no_wrap=True, overflow="crop")
    occurring = {standing for seeds in of_arms for standing in seeds.values()}
    for standing in MARKS:
        if standing in occurring:
            text.append(" ").append(*_mark(standing, ascii_only)).append(f" {standing.value} ")
    return text


def _mark(standing: TrialStatus, ascii_only: bool) -> tuple[str, str]:
    mark, plain, colour = MARKS[standing]
    return (plain if ascii_only else mark), colour
