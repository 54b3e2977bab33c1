"""`python -m tools.audit [FOLDER]`: one line per published folder, then each difference; exit code 1 where any is."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.audit.compare import Outcome
from tools.audit.folders import Folder, published_triples
from tools.audit.paper_claims import check_claims
from tools.audit.prose import check_prose

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
NO_ROWS = "no exported rows beside it, so that nothing can be recomputed"


def audit(root: Path) -> dict[str, Outcome | str]:
    """Return what was found by folder and text, or why a folder was not audited."""
    alone = (root / "report.json").is_file()
    paths = [root] if alone else sorted(path for path in root.iterdir() if path.is_dir())
    folders = {path.name: Folder.read(path) for path in paths if (path / "ledger" / "export.json").is_file()}
    for folder in folders.values():
        folder.audit()
    found: dict[str, Outcome | str] = {
        path.name: folders[path.name].outcome if path.name in folders else NO_ROWS for path in paths
    }
    return found if alone else {**found, **texts(root, folders)}


def texts(root: Path, folders: Mapping[str, Folder]) -> dict[str, Outcome]:
    """Return what was found in the texts beside the folders: the table of claims, and the README."""
    of_claims, of_readme = Outcome(), Outcome()
    found = {}
    if (root / "claims.md").is_file():
        check_claims(of_claims, root, {name: folder.compared for name, folder in folders.items()})
        found["claims.md"] = of_claims
    if (root / "README.md").is_file():
        known = [triple for folder in folders.values() for triple in folder.triples]
        former = [path for path in root.iterdir() if path.is_dir() and path.name not in folders]
        quoted = {path.name: published_triples(path) for path in former}
        check_prose(of_readme, "README.md", (root / "README.md").read_text(encoding="utf-8"), known, quoted)
        found["README.md"] = of_readme
    return found


def lines_of(name: str, found: Outcome | str) -> list[str]:
    """Return the report on one folder."""
    if isinstance(found, str):
        return [f"{name}: not recomputed: {found}"]
    lines = [f"{name}: {found.compared} values compared, {len(found.differences)} differ"]
    lines += [f"  differs: {each}" for each in found.differences]
    lines += [f"  {count} within 1e-6 beyond rounding: {why}" for why, count in found.allowed.items()]
    by_reason: dict[str, list[str]] = {}
    for what, why in found.skipped.items():
        by_reason.setdefault(why, []).append(what)
    return lines + [f"  not recomputed: {', '.join(what)}: {why}" for why, what in by_reason.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the audit; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=PUBLISHED, help="one published folder, or all of them"
    )
    outcomes = audit(parser.parse_args(arguments).folder.resolve())
    for name, found in outcomes.items():
        sys.stdout.writelines(f"{line}\n" for line in lines_of(name, found))
    counted = [found for found in outcomes.values() if isinstance(found, Outcome)]
    compared, differ = sum(each.compared for each in counted), sum(len(each.differences) for each in counted)
    sys.stdout.write(f"all: {compared} values compared, {differ} differ\n")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
