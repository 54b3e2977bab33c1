"""`python -m tools.audit`: a line per published folder, then each difference; exit code 1 where any is."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.audit import claims, plateau, tables, tokens_to_loss
from tools.audit.compare import Comparison, compare
from tools.audit.rows import Study, read_csv, read_facts

ROOT = Path(__file__).parents[2]
NO_QUANTITY = "no difference, interval, correction, equivalence, verdict, claim or Shapley value"
TABLES = {  # how each is recomputed, and the columns that name a row
    "results": (tables.results, ("arm", "metric")),
    "effects": (tables.effects, ("arm", "metric")),
    "claims": (claims.claims, ("claim", "by")),
    "isolated": (tables.isolated, ("arm", "reference", "metric")),
    "plateau": (lambda study: plateau.rows(study.exits), ("arm",)),
    "tokens_to_loss": (tokens_to_loss.rows, ("arm",)),
    "shapley": (tables.shapley, ("factor", "metric")),
}


def audit(published: Path, built: Path) -> Iterator[tuple[str, str, Sequence[Comparison]]]:
    """Yield by published folder, and for the page of claims, why it is not recomputed or what was found."""
    studies: dict[str, Study] = {}
    for folder in sorted(path for path in published.iterdir() if path.is_dir()):
        if reason := reason_not_recomputed(folder / "ledger"):
            yield folder.name, reason, ()
            continue
        found = {path.stem: read_csv(path) for path in sorted((built / folder.name / "tables").glob("*.csv"))}
        plateaus = {row["arm"]: (row["curve"], float(row["level"])) for row in found.get("plateau", [])}
        study = Study(folder / "ledger", {row["metric"] for row in found["results"]}, plateaus)
        studies |= {} if study.tuned else {folder.name: study}  # a tuned one's claims are tested at own recipes
        of_tables = [compare(f"{n}.csv", keys, found.pop(n, []), rows(study)) for n, (rows, keys) in TABLES.items()]
        others = [Comparison(f"{name}.csv", cells=sum(map(len, found[name])), skipped=["all"]) for name in found]
        yield folder.name, "", [*of_tables, *others]
    yield "claims.md", "", [claims.compare_page(published, studies)]


def reason_not_recomputed(ledger: Path) -> str:
    """Return why nothing of a published folder is recomputed; empty where something is."""
    if not ledger.is_dir():
        return "no exported rows"
    document = read_facts(ledger)["document"]
    if "timing" in document or not document["pretraining"]["seeds"]:  # the former layout, and today's
        return f"latencies: {NO_QUANTITY}"
    return "a group-sequential design" if isinstance(document["pretraining"]["seeds"], dict) else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the audit; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("--published", type=Path, default=ROOT / "reports" / "published", help="folders with rows")
    parser.add_argument("--tables", type=Path, default=ROOT / "build" / "reports", help="folders with built tables")
    given, everything = parser.parse_args(arguments), list[Comparison]()
    for folder in sorted(path.parent for path in given.published.glob("*/ledger")):
        if not (given.tables / folder.name / "tables" / "results.csv").is_file():
            sys.stderr.write(f"no tables of {folder.name} in {given.tables}: `make reports` builds them\n")
            return 5
    for name, reason, found in audit(given.published, given.tables):
        differences = [f"  {each}\n" for one in found for each in one.differences]
        counted = f"{sum(one.compared for one in found)} values compared, {len(differences)} differ"
        sys.stdout.writelines([f"{name}: {f'not recomputed: {reason}' if reason else counted}\n", *differences])
        everything += found
    sys.stdout.write(f"not recomputed below: {NO_QUANTITY}\n")
    for file in dict.fromkeys(one.file for one in everything):
        parts = [one for one in everything if one.file == file]
        skipped = sorted({column for one in parts for column in one.skipped})
        cells = f"{sum(one.compared for one in parts)} of {sum(one.cells for one in parts)} cells compared"
        sys.stdout.write(f"{file}: {cells}; not recomputed: {', '.join(skipped) or 'nothing'}\n")
    differ = sum(len(one.differences) for one in everything)
    sys.stdout.write(f"all: {sum(one.compared for one in everything)} values compared, {differ} differ\n")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
