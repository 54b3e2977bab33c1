"""Published cells against recomputed ones: equal text, or numbers equal to half a unit of the last printed digit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tools.audit.exports import Row
from tools.audit.rule import NotRecomputed, Rule

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
    allowed: dict[str, int] = field(default_factory=dict)
    """Number of cells that differ beyond rounding, by the reason for which the error is allowed for."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What is not recomputed, with the reason."""

    def check(
        self, at: tuple[str, str, str], published: str, recomputed: object, allowed: float = 0.0, why: str = ""
    ) -> None:
        """Compare one cell at (file, row, column)."""
        self.compared += 1
        if same(published, recomputed):
            return
        if allowed and same(published, recomputed, allowed):
            self.allowed[f"{at[0]} {at[2]}: {why}"] = self.allowed.get(f"{at[0]} {at[2]}: {why}", 0) + 1
        else:
            shown = "nothing" if recomputed is None else f"{recomputed:.9g}" if _real(recomputed) else str(recomputed)
            self.differences.append(Difference(*at, published or "nothing", shown))

    def missing(self, file: str, row: str, published: str) -> None:
        """Note a published number that no recomputed one matches."""
        self.differences.append(Difference(file, row, "value", published, "no such value with this interval"))


def _real(value: object) -> bool:
    return isinstance(value, float)


def same(published: str, recomputed: object, allowed: float = 0.0) -> bool:
    """Whether a printed cell shows the recomputed value; `allowed` is an absolute error beyond rounding."""
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
    return abs(float(printed) - value) <= half + SLACK * abs(value) + allowed


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
            elif isinstance(row[column], NotRecomputed):
                outcome.skipped[f"{file} {column}"] = row[column].reason
            elif column not in rule.keys:
                outcome.check(
                    (file, named, column), line[column], row[column], rule.allowed.get(column, 0.0), rule.why
                )
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
