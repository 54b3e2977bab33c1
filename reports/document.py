"""The report as a value that every format renders."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from reports.figures.figure import Picture
from reports.table import Grid, Table

Notes = tuple[tuple[str, str], ...]
"""Pairs of a term and its text."""


@dataclass(frozen=True)
class Summary:
    """What a brief report shows of a comparison of arms, in place of its tables."""

    finding: tuple[str, ...]
    """Sentences on the headline metrics, and one on what became of the claims."""
    table: Grid
    undecided: tuple[str, ...]
    """The undecided tests of the headline metrics, with the seeds that would decide each."""
    seeds_to_decide: int | None
    """Number of pretraining seeds that would decide all of them; None if none is known."""


@dataclass(frozen=True)
class Report:
    """A report. Tables are data as recorded; grids, notes and sentences are sanitised text."""

    experiment: str
    scale: str
    """Empty if the experiment file has no scales."""
    question: str
    statements: tuple[str, ...]
    """The sentences of the finding."""
    paper: str
    """The paper's statement with its source; empty if the experiment names none."""
    tables: tuple[Table, ...]
    grids: tuple[Grid, ...]
    footer: Notes
    """The conditions under which the numbers were measured."""
    trials: Table
    """Every measured value in long form, written as CSV beside the tables."""
    declared: Callable[[], str] = field(default=str, compare=False)
    """Writes the experiment as YAML, resolved at its scale."""
    figures: Callable[[], tuple[Picture, ...]] = field(default=tuple, compare=False)
    """Computes the data of the figures, which a terminal does not show, in display order."""
    made_with: Notes = ()
    """Command, machine and libraries that produced the numbers, as far as the ledger has them."""
    summary: Summary | None = None
    """None for searches, latencies, and before any result."""
    limits: str = ""
    """What it cannot say; empty without pretrained arms, and in a brief report."""
    more: str = ""
    """In a brief report, what it leaves out and the command that shows it."""

    @cached_property
    def declaration(self) -> str:
        """The experiment as YAML, resolved at its scale."""
        return self.declared()

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The figures in display order, drawn lazily."""
        return self.figures()

    @property
    def finding(self) -> str:
        """The statements as one paragraph."""
        return " ".join(self.statements)

    @property
    def title(self) -> str:
        """The experiment with its scale."""
        return f"{self.experiment} ({self.scale})" if self.scale else self.experiment

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all tables, in the tables' order."""
        return tuple(note for grid in self.grids for note in grid.every_note)
