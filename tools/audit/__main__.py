"""`python -m tools.audit [FOLDER]`: one line per published folder, then each difference; exit code 1 where any is."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.audit.compare import Outcome
from tools.audit.folders import Folder
from tools.audit.paper_claims import check_claims
from tools.audit.prose import check_prose

PUBLISHED = Path(__file__).parents[2] / "reports" / "published"
NO_ROWS = "no exported rows beside it, so that nothing can be recomputed"


def audit(root: Path) -> dict[str, Outcome | str]:
    """Return what was found by folder, or why a folder was not audited."""
    found: dict[str, Outcome | str] = {}
    folders: list[Folder] = []
    paths = [root] if (root / "report.json").is_file() else sorted(path for path in root.iterdir() if path.is_dir())
    for path in paths:
        if (path / "ledger" / "export.json").is_file():
            folders.append(Folder.read(path))
            folders[-1].audit()
            found[path.name] = folders[-1].outcome
        else:
            found[path.name] = NO_ROWS
    known = [triple for folder in folders for triple in folder.triples]
    if (root / "claims.md").is_file():
        found["claims.md"] = Outcome()
        check_claims(found["claims.md"], root, {folder.path.name: folder.study for folder in folders})
    if (root / "README.md").is_file() and root not in paths:
        found["README.md"] = Outcome()
        negated = [(-value, -high, -low) for value, low, high in known]
        check_prose(
            found["README.md"], "README.md", (root / "README.md").read_text(encoding="utf-8"), known + negated
        )
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
