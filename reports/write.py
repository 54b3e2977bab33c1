"""Writes a report into a folder: every format, every figure and every table."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from foundation.atomic_files import disk_refusals, write_whole
from foundation.errors import ConflictError, MachineError
from reports.document import Report
from reports.figures.figure import Picture
from reports.figures.matplotlib_style import svg_document
from reports.formats import render
from reports.formats.csv import render_table

REPORT_FILES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
    "csv": "report.csv",
    "json": "report.json",
}
DECLARATION = "report.yaml"
"""The experiment of the report, as a file that `plan` and `run` take."""
FIGURES, TABLES = "figures", "tables"


def write_report(report: Report, folder: Path) -> tuple[Path, ...]:
    """Write the report atomically, file by file, and return the files of its formats.

    `figures/` gets each figure as SVG and PDF with its numbers, `tables/` every table as CSV; files of an earlier
    report in these folders are removed. Raises MachineError if a file cannot be written.
    """
    from reports.formats.html import drawings, page
    from reports.links import links_beside

    other_formats = [format_name for format_name in REPORT_FILES if format_name != "html"]
    texts = {format_name: render(report, format_name).encode() for format_name in other_formats}
    refuse_taken(folder)
    with disk_refusals(folder):
        _fill(folder / FIGURES, dict(figure_files(report.pictures)))
        _fill(folder / TABLES, dict(_tables(report)))
        put(folder / DECLARATION, report.declaration.encode())
        written = [put(folder / REPORT_FILES[format_name], texts[format_name]) for format_name in other_formats]
        links = links_beside(
            folder, tuple(REPORT_FILES[format_name] for format_name in other_formats)
        )  # last, because only existing files are linked
        return put(folder / REPORT_FILES["html"], page(report, drawings(report), links).encode()), *written


def files_to_attach(files: Sequence[Path], scratch: Path) -> tuple[Path, ...]:
    """Return the files for use outside the folder; the page is replaced by a copy without links to files."""
    from reports.formats.html import without_files

    page = scratch / REPORT_FILES["html"]
    page.write_text(without_files(next(path for path in files if path.name == page.name).read_text("utf-8")), "utf-8")
    return tuple(page if path.name == page.name else path for path in files)


def refuse_taken(folder: Path) -> None:
    """Raise MachineError if a path of the report is taken by a folder, or one of its folders by a file or a link.

    Links are refused because files of an earlier report are removed from the report's folders.
    """
    files = [folder / name for name in (*REPORT_FILES.values(), DECLARATION)]
    with disk_refusals(folder):
        folders = [path for path in files if path.is_dir()]
        not_folders = [path for path in (folder / FIGURES, folder / TABLES) if _is_no_folder(path)]
    lines = [f"{path}: is a folder, but the report writes a file of this name; move it away" for path in folders]
    lines += [
        f"{path}: is not a folder, but the report writes a folder of this name; move it away" for path in not_folders
    ]
    if lines:
        raise MachineError(lines)


def refuse_foreign(folder: Path) -> None:
    """Raise ConflictError if a folder that holds no results has files that a report would replace or remove."""
    files = [folder / name for name in (*REPORT_FILES.values(), DECLARATION)]
    with disk_refusals(folder):
        found = [path for path in files if path.is_file()]
        found += [path for name in (FIGURES, TABLES) for path in sorted((folder / name).glob("*")) if path.is_file()]
    if found:
        raise ConflictError(
            f"{folder}: holds no results of steeplechase, and {found[0].relative_to(folder)}, which a report would "
            "replace; nothing was changed. Choose another folder, or move the file away"
        )


def _is_no_folder(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def figure_files(pictures: Iterable[Picture]) -> Iterator[tuple[str, bytes]]:
    """Yield file name and content of each figure as SVG and PDF, and of its numbers as CSV."""
    for picture in pictures:
        yield f"{picture.name}.svg", svg_document(picture.svg).encode()
        yield f"{picture.name}.pdf", picture.pdf()
        yield f"{picture.name}.csv", render_table(picture.numbers).encode()


def _tables(report: Report) -> Iterator[tuple[str, bytes]]:
    for table in (*report.tables, report.trials):
        if table.rows:
            yield f"{table.name}.csv", render_table(table).encode()


def _fill(folder: Path, files: dict[str, bytes]) -> None:
    """Write these files into a folder and remove other files; sub-folders are kept; no folder without files."""
    if files:
        folder.mkdir(exist_ok=True)
    for leftover in folder.glob("*") if folder.is_dir() else ():
        if leftover.name not in files and (leftover.is_symlink() or not leftover.is_dir()):
            leftover.unlink()
    for name, content in files.items():
        put(folder / name, content)


def put(path: Path, content: bytes) -> Path:
    """Write a file atomically unless it already has these bytes; raises OSError."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
        return path
    return write_whole(path, content)
