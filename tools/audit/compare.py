"""Published cells against recomputed ones: equal text, or numbers equal to half a unit of the last printed digit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tools.audit.exports import Row
from tools.audit.rule import Rule

SLACK = 1e-9
"""Relative difference that counts as none: of numbers in full precision, and of the rounding itself."""


@dataclass(frozen=True)
class Difference:
    """A published cell that the recomputation does not give."""

    file: str
    row: str
    column: str
    published: str
    recomputed: str

    def __str__(self) -> str:
        """Return the difference on one line."""
        return f"{self.file}: {self.row}: {self.column}: published {self.published}, recomputed {self.recomputed}"


@dataclass
class Outcome:
    """What the audit of one folder found."""

    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """What is not recomputed, with the reason."""

    def check(self, at: tuple[str, str, str], published: str, recomputed: object) -> None:
        """Compare one cell at (file, row, column)."""
        self.compared += 1
        if not same(published, recomputed):
            shown = "nothing" if recomputed is None else f"{recomputed:.9g}" if _real(recomputed) else str(recomputed)
            self.differences.append(Difference(*at, published or "nothing", shown))


def _real(value: object) -> bool:
    return isinstance(value, float)


def same(published: str, recomputed: object) -> bool:
    """Whether a printed cell shows the recomputed value."""
    if recomputed is None or published == "":
        return recomputed is None and published == ""
    if isinstance(recomputed, bool | str):
        return published == str(recomputed)
    try:
        printed = Decimal(published)
    except ArithmeticError:
        return False
    exponent = printed.as_tuple().exponent
    assert isinstance(exponent, int)
    value = float(recomputed)  # type: ignore[arg-type]
    half = 0.0 if isinstance(recomputed, int) else 0.5 * 10.0**exponent * (1 + 1e-6)
    return abs(float(printed) - value) <= half + SLACK * abs(value)


def compare_table(
    outcome: Outcome, file: str, rule: Rule, published: Sequence[Mapping[str, str]], rows: Sequence[Row]
) -> None:
    """Compare every cell of a table; rows that only one side has are differences, except beyond a subset."""
    by_key = {tuple(_text(row[name]) for name in rule.keys): row for row in rows}
    for line in published:
        key = tuple(line[name] for name in rule.keys)
        named, row = ", ".join(filter(None, key)), by_key.pop(key, None)
        if row is None:
            outcome.differences.append(Difference(file, named, "row", "there", "none"))
            continue
        for column in line:
            if column in rule.skipped:
                outcome.skipped[f"{file} {column}"] = rule.skipped[column]
            elif column not in row:
                outcome.differences.append(Difference(file, named, column, line[column], "no rule for this column"))
            elif column not in rule.keys:
                outcome.check((file, named, column), line[column], row[column])
    for key in by_key if not rule.subset else ():
        outcome.differences.append(Difference(file, ", ".join(filter(None, key)), "row", "none", "there"))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def json_cells(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table in report.json as a CSV has them: numbers with six decimals, nothing for null."""
    for row in rows:
        yield {
            name: "" if cell is None else f"{cell:.6f}" if _real(cell) else str(cell) for name, cell in row.items()
        }
