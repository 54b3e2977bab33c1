"""A report as files in a folder: every format at once, each figure by itself, and every table."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from foundation.atomic_files import disk_refusals, write_whole
from foundation.errors import MachineError
from ledger.snapshot import Snapshot
from reports.document import Report
from reports.figures.figure import Picture
from reports.figures.matplotlib_style import svg_document
from reports.formats import render
from reports.formats.csv import render_table
from reports.report import build

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
    earlier report has left there is gone. Raises MachineError where a file cannot be written.
    """
    from reports.formats.html import drawings, page
    from reports.links import links_beside

    report = build(found)
    others = [form for form in REPORT_FILES if form != "html"]
    texts = {form: render(report, form).encode() for form in others}
    refuse_taken(folder)
    with disk_refusals(folder):
        _fill(folder / FIGURES, dict(figure_files(report.pictures)))
        _fill(folder / TABLES, dict(_tables(report)))
        written = [put(folder / REPORT_FILES[form], texts[form]) for form in others]
        links = links_beside(folder, tuple(REPORT_FILES[form] for form in others))  # last: to files that are there
        return put(folder / REPORT_FILES["html"], page(report, drawings(report), links).encode()), *written


def files_to_attach(files: Sequence[Path], scratch: Path) -> tuple[Path, ...]:
    """Return a report's files as they are shown without its folder; the page is a copy without links to files."""
    from reports.formats.html import without_files

    page = scratch / REPORT_FILES["html"]
    page.write_text(without_files(next(path for path in files if path.name == page.name).read_text("utf-8")), "utf-8")
    return tuple(page if path.name == page.name else path for path in files)


def refuse_taken(folder: Path) -> None:
    """Raise MachineError where something else has the name of a report's file, so that no run ends in vain.

    A link is no folder of ours: what an earlier report has left behind is removed from it.
    """
    files = [folder / name for name in REPORT_FILES.values()]
    with disk_refusals(folder):
        taken = [path for path in files if path.is_dir()]
        no_folders = [path for path in (folder / FIGURES, folder / TABLES) if _is_no_folder(path)]
    lines = [f"{path}: is a folder, and the report has a file there; move it away" for path in taken]
    lines += [f"{path}: is no folder, and the report has one there; move it away" for path in no_folders]
    if lines:
        raise MachineError(lines)


def _is_no_folder(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def figure_files(pictures: Iterable[Picture]) -> Iterator[tuple[str, bytes]]:
    """Yield each figure as SVG and as PDF, and its numbers as CSV, by the names of the files."""
    for picture in pictures:
        yield f"{picture.name}.svg", svg_document(picture.svg).encode()
        yield f"{picture.name}.pdf", picture.pdf()
        yield f"{picture.name}.csv", render_table(picture.numbers).encode()


def _tables(report: Report) -> Iterator[tuple[str, bytes]]:
    for table in report.tables:
        if table.rows:
            yield f"{table.name}.csv", render_table(table).encode()


def _fill(folder: Path, files: dict[str, bytes]) -> None:
    """Make a folder hold these files and no others; no folder for no files. Folders in it are left alone."""
    if files:
        folder.mkdir(exist_ok=True)
    for leftover in folder.glob("*") if folder.is_dir() else ():
        if leftover.name not in files and (leftover.is_symlink() or not leftover.is_dir()):
            leftover.unlink()
    for name, content in files.items():
        put(folder / name, content)


def put(path: Path, content: bytes) -> Path:
    """Write a file, whole or not at all, where it does not hold these bytes already; raises OSError."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
        return path
    return write_whole(path, content)
