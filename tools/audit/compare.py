"""Published cells against recomputed ones: equal text, or numbers equal to half a unit of the last printed digit."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tools.audit.rows import Row

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
SLACK = 1e-12  # relative difference that counts as none


class Comparison(NamedTuple):
    """What the audit found in one file: cells that name their row are not counted, columns may not be recomputed."""

    file: str
    differences: Sequence[str] = ()
    compared: int = 0
    cells: int = 0
    skipped: Sequence[str] = ()


def compare(file: str, keys: Sequence[str], published: Sequence[Row], rows: Iterable[Row]) -> Comparison:
    """Compare every cell of a file; a row or a column that only one side has is a difference."""
    by_key = {tuple(row[name] for name in keys): row for row in rows}
    shown = [column for column in (published[0] if published else ()) if column not in keys]
    columns = {column for row in by_key.values() for column in row if published and column not in keys}
    differences = [f"{file}: {column}: no such column published" for column in sorted(columns - {*shown})]
    shared = [column for column in shown if column in columns]
    for line in published:
        key = tuple(line[name] for name in keys)
        at, row = f"{file}: {', '.join(key)}", by_key.pop(key, None)
        if row is None:
            differences.append(f"{at}: published, not recomputed")
        else:
            wrong = [(column, line[column], row[column]) for column in shared if not same(line[column], row[column])]
            differences += [
                f"{at}: {column}: published {one or 'nothing'}, recomputed {other}" for column, one, other in wrong
            ]
    differences += [f"{file}: {', '.join(key)}: recomputed, not published" for key in by_key]
    skipped = [column for column in shown if column not in columns]
    return Comparison(file, differences, len(published) * len(shared), len(published) * len(shown), skipped)


def same(published: str, recomputed: object) -> bool:
    """Whether a printed cell shows the recomputed value: no number for NaN, the same one for a whole number."""
    if not isinstance(recomputed, int | float):
        return published == recomputed
    if not math.isfinite(recomputed) or not NUMBER.fullmatch(published):
        return published == "" and not math.isfinite(recomputed)
    unit = 0.0 if isinstance(recomputed, int) else 10.0 ** -len(published.partition(".")[2])
    return abs(float(published) - recomputed) <= 0.5 * unit * (1 + 1e-6) + SLACK * abs(recomputed)
