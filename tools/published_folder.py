"""A published folder, read once, for the pages whose numbers are of its rows."""

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from reports.document import Report
from reports.number_format import NOTHING, difference_text
from reports.report import build
from reports.statistics.claims import JudgedClaim, judged_claims
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table
from reports.views import compared_results
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.claims import parse_claim
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import snapshot

UNITS = {HELD_OUT_LOSS: " nats"}


class Folder:
    """A published folder, read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = snapshot(read_export(path))

    @cached_property
    def results(self) -> Results:
        """The results that the tables show, of a search its final comparison, with kept values of single examples."""
        return compared_results(self._rows, kept_example_tables(self._path))

    @cached_property
    def claims(self) -> Mapping[str, JudgedClaim]:
        """The claims of the report by their short form."""
        return {str(judged.tested.claim): judged for judged in judged_claims(self.results)}

    @cached_property
    def report(self) -> Report:
        """The report of the rows."""
        return build(self._rows, example_tables=kept_example_tables(self._path))

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the report by name."""
        return {table.name: table for table in self.report.tables}

    def arm(self, name: str) -> str:
        """Return the name of an arm with values."""
        return known_name(name, "an arm", self.results.values)

    def arms(self, names: Collection[str]) -> Collection[str]:
        """Return the named arms, or all."""
        return [self.arm(name) for name in names] or self.results.values.keys()

    def metric(self, name: str) -> Metric:
        """Return a measured metric."""
        measured = (*self.results.metrics, *self.results.descriptions)
        return Metric(known_name(name, "a metric", [metric.name for metric in measured]))

    def claim(self, text: str) -> JudgedClaim:
        """Return a claim of the report with its outcome."""
        return self.claims[known_name(str(parse_claim(text)), "a claim", self.claims)]

    def rows(self, table: str, where: Mapping[str, object]) -> list[Row]:
        """Return the rows of a table that have these values."""
        found = self.tables[known_name(table, "a table", self.tables)]
        for column in where:
            known_name(column, "a column", found.columns)
        return [row for row in found.rows if all(row[column] == value for column, value in where.items())]

    def row(self, table: str, where: Mapping[str, object]) -> Row:
        """Return the one row of a table that has these values."""
        rows = self.rows(table, where)
        if len(rows) != 1:
            raise ConfigurationError(f"{table} has {len(rows)} rows with {dict(where)}; one is needed")
        return rows[0]

    def shown(self, over: Difference, metric: Metric, *, interval: bool = True, n: bool = True) -> str:
        """Return a difference with its unit, interval and n; of arms without a seed that learned a dash."""
        if over.delta is None:
            return NOTHING
        value, _, bounds = difference_text(over, self.results.decimals(metric)).partition(" ")
        seeds = f", n = {over.n}" if n else ""
        return f"{value}{UNITS.get(metric.name, '')}{f' {bounds}' if interval else ''}{seeds}"


def known_name(name: str, what: str, known: Collection[str]) -> str:
    """Return a known name. Raises ConfigurationError with the closest one for another."""
    if name not in known:
        raise ConfigurationError(not_one_of(name, what, known))
    return name
