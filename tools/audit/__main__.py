"""`python -m tools.audit`: a line per published folder, then each difference; exit code 1 where any is."""

import argparse
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.audit import tables
from tools.audit.rows import Row, Study, read_csv, read_facts

ROOT = Path(__file__).parents[2]
TABLES = {  # how each is recomputed, and the columns that name a row
    "results": (tables.results, ("arm", "metric")),
    "effects": (tables.effects, ("arm", "metric")),
    "claims": (tables.claims, ("claim", "by")),
    "plateau": (tables.plateau, ("arm",)),
    "tokens_to_loss": (tables.tokens_to_loss, ("arm",)),
    "shapley": (tables.shapley, ("factor", "metric")),
}


def compare(file: str, keys: Sequence[str], published: Sequence[Row], rows: Iterable[Row]) -> tuple[list[str], int]:
    """Return the differences, and how many values were compared; a row that only one side has differs."""
    by_key = {tuple(row[name] for name in keys): row for row in rows}
    columns = sorted({column for row in by_key.values() for column in row} - {*keys}) if published else []
    differences = [f"{file}: {column}: no such column" for column in columns if column not in published[0]]
    compared = 0
    for line in published:
        key = tuple(line[name] for name in keys)
        at, row = f"{file}: {', '.join(key)}", by_key.pop(key, None)
        if row is None:
            differences.append(f"{at}: published, not recomputed")
            continue
        pairs = [(column, line[column], row[column]) for column in columns if column in line]
        compared += len(pairs)
        wrong = [(column, one or "nothing", other) for column, one, other in pairs if not same(one, other)]
        differences += [f"{at}: {column}: published {one}, recomputed {other}" for column, one, other in wrong]
    differences += [f"{file}: {', '.join(key)}: recomputed, not published" for key in by_key]
    return differences, compared


def same(published: str, recomputed: object) -> bool:
    """Whether a printed cell shows the recomputed value: no number for NaN, the same one for a whole number."""
    if not isinstance(recomputed, int | float):
        return published == recomputed
    if not math.isfinite(recomputed) or not re.fullmatch(r"-?\d+(?:\.\d+)?", published):
        return published == "" and not math.isfinite(recomputed)
    unit = 0.0 if isinstance(recomputed, int) else 10.0 ** -len(published.partition(".")[2])
    return abs(float(published) - recomputed) <= 0.5 * unit * (1 + 1e-6) + 1e-12 * abs(recomputed)


def audit(published: Path, built: Path) -> Iterator[tuple[str, str, list[str], int]]:
    """Yield by published folder why it is not recomputed, or what was found in each table."""
    for folder in sorted(path for path in published.iterdir() if path.is_dir()):
        ledger = folder / "ledger"
        if not ledger.is_dir() or not read_facts(ledger)["document"].get("pretraining", {}).get("seeds"):
            yield folder.name, "latencies" if ledger.is_dir() else "no exported rows", [], 0
            continue
        found = {path.stem: read_csv(path) for path in (built / folder.name / "tables").glob("*.csv")}
        plateaus = {row["arm"]: (row["curve"], int(row["left"])) for row in found.get("plateau", [])}
        study = Study(ledger, {row["metric"] for row in found["results"]}, plateaus)
        of_claims = study  # of tuned arms claims are about those at their own recipes, the other tables are not
        if any(row.get("tuned_from") for row in read_csv(ledger / "arms.csv")):
            of_claims = Study(ledger, {row["metric"] for row in found["results"]}, {}, at_own=True)
        of = {name: of_claims if name == "claims" else study for name in TABLES}
        compared = [compare(f"{n}.csv", keys, found.get(n, []), rows(of[n])) for n, (rows, keys) in TABLES.items()]
        yield folder.name, "", [each for of, _ in compared for each in of], sum(count for _, count in compared)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the audit; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("--published", type=Path, default=ROOT / "reports" / "published", help="folders with rows")
    parser.add_argument("--tables", type=Path, default=ROOT / "build" / "reports", help="folders with built tables")
    given, totals = parser.parse_args(arguments), [0, 0]
    for folder in sorted(path.parent for path in given.published.glob("*/ledger")):
        if not (given.tables / folder.name / "tables" / "results.csv").is_file():
            sys.stderr.write(f"no tables of {folder.name} in {given.tables}: `make reports` builds them\n")
            return 5
    for name, reason, found, count in audit(given.published, given.tables):
        text = f"not recomputed: {reason}" if reason else f"{count} values compared, {len(found)} differ"
        sys.stdout.write("\n  ".join([f"{name}: {text}", *found]) + "\n")
        totals = [totals[0] + count, totals[1] + len(found)]
    sys.stdout.write(f"all: {totals[0]} values compared, {totals[1]} differ\n")
    return int(totals[1] > 0)


if __name__ == "__main__":
    sys.exit(main())
