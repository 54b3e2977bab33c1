"""A report as files in a results folder, every format at once."""

from pathlib import Path

from reports.formats import render
from reports.report import build
from runners.standing import Snapshot

REPORT_FILES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
    "csv": "report.csv",
    "json": "report.json",
}


def write_report(found: Snapshot, folder: Path) -> tuple[Path, ...]:
    """Write the report beside the ledger and return the files, each there whole or not at all."""
    report = build(found, found.importance or None)
    written = []
    for form, name in REPORT_FILES.items():
        temporary = folder / f".{name}.writing"
        temporary.write_text(render(report, form), encoding="utf-8")
        written.append(temporary.replace(folder / name))
    return tuple(written)
