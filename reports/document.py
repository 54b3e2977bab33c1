"""The report as a value: what every format writes down, and nothing of how it came about."""

from dataclasses import dataclass

from reports.figures.figure import Picture
from reports.grid import Grid
from reports.table import Table

Notes = tuple[tuple[str, str], ...]
"""Terms, each with its text."""


@dataclass(frozen=True)
class Report:
    """What was learned. Tables are data as recorded; grids, notes and sentences are text that is safe to show."""

    experiment: str
    scale: str
    """Empty where the experiment file has no scales."""
    question: str
    finding: str
    paper: str
    """What the paper states, with its source; empty where the experiment names none."""
    tables: tuple[Table, ...]
    grids: tuple[Grid, ...]
    footer: Notes
    """Under which conditions the numbers were measured."""
    pictures: tuple[Picture, ...] = ()
    """The figures in the order in which they are shown; drawn when they are read."""
    made_with: Notes = ()
    """The command, the machine and the libraries behind the numbers, as far as the ledger has them."""
    more: str = ""
    """Of a brief report: what it leaves out, and the command that shows it."""

    @property
    def title(self) -> str:
        """The experiment with its scale."""
        return f"{self.experiment} ({self.scale})" if self.scale else self.experiment

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all tables, in the tables' order."""
        return tuple(note for grid in self.grids for note in grid.every_note)
