"""A report as files in a folder: every format at once, each figure by itself, and every table."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.formats import render
from reports.formats.csv import render_table
from reports.report import Report, build
from runners.evidence.standing import Snapshot

REPORT_FILES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
    "csv": "report.csv",
    "json": "report.json",
}
FIGURES, TABLES = "figures", "tables"


def write_report(found: Snapshot, folder: Path) -> tuple[Path, ...]:
    """Write the report and return the files of its formats, each there whole or not at all.

    Beside them `figures/` has each figure as SVG and PDF with its numbers, `tables/` every table as CSV; what an
    earlier report has left there is gone.
    """
    from reports.figures.gallery import files_of, pictures_of
    from reports.formats.html import drawings, page  # these draw; the rest of a report does not
    from reports.links import links_beside

    report = build(found, found.importance or None)
    pictures = pictures_of(report)
    _fill(folder / FIGURES, dict(files_of(pictures)))
    _fill(folder / TABLES, dict(_tables(report)))
    others = {form: name for form, name in REPORT_FILES.items() if form != "html"}
    written = [_put(folder / name, render(report, form).encode()) for form, name in others.items()]
    files = links_beside(folder, tuple(others.values()))  # last: the page links to files that are there
    return _put(folder / REPORT_FILES["html"], page(report, drawings(pictures), files).encode()), *written


def files_to_attach(files: Sequence[Path], scratch: Path) -> tuple[Path, ...]:
    """Return a report's files as they are shown without its folder; the page is a copy without links to files."""
    from reports.formats.html import without_files

    page = scratch / REPORT_FILES["html"]
    page.write_text(without_files(next(path for path in files if path.name == page.name).read_text("utf-8")), "utf-8")
    return tuple(page if path.name == page.name else path for path in files)


def _tables(report: Report) -> Iterator[tuple[str, bytes]]:
    for table in report.tables:
        if table.rows:
            yield f"{table.name}.csv", render_table(table).encode()


def _fill(folder: Path, files: dict[str, bytes]) -> None:
    """Make a folder hold these files and nothing else; no folder for no files."""
    if files:
        folder.mkdir(exist_ok=True)
    for leftover in folder.glob("*") if folder.is_dir() else ():
        if leftover.name not in files:
            leftover.unlink()
    for name, content in files.items():
        _put(folder / name, content)


def _put(path: Path, content: bytes) -> Path:
    unfinished = path.with_name(f".{path.name}.writing")
    unfinished.write_bytes(content)
    return unfinished.replace(path)
