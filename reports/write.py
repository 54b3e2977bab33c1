"""Writes reports into folders: the whole report of a run, or the part of it that a published folder keeps."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reports.document import Report
from reports.figures.figure import Picture
from reports.figures.matplotlib_style import svg_document
from reports.formats import render
from reports.formats.csv import exact_cell, render_table
from reports.table import Table
from steeplechase.foundation.atomic_files import disk_refusals, write_whole
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError
from steeplechase.foundation.names import inside, relative_name

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
PREDICTIONS = "predictions"
"""The folder of tables that a report does not have: one row per example."""


def write_report(report: Report, folder: Path) -> tuple[Path, ...]:
    """Write the whole report atomically, file by file, and return the files of its formats.

    `figures/` gets each figure as SVG and PDF with its numbers, `tables/` every table as CSV; files of an earlier
    report in these folders are removed. Raises MachineError if a file cannot be written.
    """
    from reports.formats.html import links_beside, page

    html = REPORT_FILES["html"]
    texts = {
        name: render(report, format_name).encode()
        for format_name, name in REPORT_FILES.items()
        if format_name not in ("html", "markdown")
    }
    figures = {f"{FIGURES}/{name}": content for name, content in figure_files(report.pictures)}
    filled = [table for table in (*report.tables, report.trials) if table.rows]
    tables = {f"{TABLES}/{table.name}.csv": render_table(table).encode() for table in filled}
    replace_files(folder, {**published_files(report), **texts, **figures, **tables}, leave=(html,))
    others = tuple(name for name in REPORT_FILES.values() if name != html)
    with disk_refusals(folder):
        links = links_beside(folder, others)  # last, because only existing files are linked
        written = put(folder / html, page(report, links).encode())
    return written, *(folder / name for name in others)


def write_predictions(folder: Path, tables: Mapping[str, Table]) -> tuple[Path, ...]:
    """Write each task's predictions as `tables/predictions/TASK.csv`; raises MachineError if that fails.

    Texts have every character and numbers all digits, so that scores can be computed again from them.
    """
    place = folder / TABLES / PREDICTIONS
    with disk_refusals(folder):
        place.mkdir(parents=True, exist_ok=True)
        files = {f"{task}.csv": render_table(table, exact_cell).encode() for task, table in tables.items()}
        return tuple(put(place / name, content) for name, content in files.items())


def published_files(report: Report) -> dict[str, bytes]:
    """Return what a published folder holds beside its rows, by path: report.md, its figures and report.yaml.

    The page shows every figure of the report, as SVG.
    """
    from reports.formats.markdown import page

    figures = {f"{FIGURES}/{picture.name}.svg": picture for picture in report.pictures}
    text = page(report, [(picture.title, path) for path, picture in figures.items()])
    return {
        REPORT_FILES["markdown"]: text.encode(),
        DECLARATION: report.declaration.encode(),
        **{path: svg_document(picture.svg).encode() for path, picture in figures.items()},
    }


def files_to_attach(files: Sequence[Path], scratch: Path) -> tuple[Path, ...]:
    """Return the files for use outside the folder; pages are replaced by copies without links to files."""
    from reports.formats import html, markdown

    without = {REPORT_FILES["html"]: html.without_files, REPORT_FILES["markdown"]: markdown.without_figures}
    for path in files:
        if path.name in without:
            (scratch / path.name).write_text(without[path.name](path.read_text("utf-8")), "utf-8")
    return tuple(scratch / path.name if path.name in without else path for path in files)


def differing_files(folder: Path, files: Mapping[str, bytes], leave: Collection[str] = ()) -> tuple[str, ...]:
    """Return the paths in a folder of what differs from these files of a report, sorted.

    A file differs that is missing, has other bytes, or is a report's and not among these; those of `leave` never do.
    """
    with disk_refusals(folder):
        changed = {name for name, content in files.items() if not _holds(folder / name, content)}
        return tuple(sorted(changed | ({*_report_files(folder)} - files.keys() - {*leave})))


def replace_files(folder: Path, files: Mapping[str, bytes], leave: Collection[str] = ()) -> tuple[str, ...]:
    """Write these files of a report, each atomically, remove its other files, and return the paths that changed.

    Sub-folders of its folders are kept. Raises MachineError if a file cannot be written.
    """
    refuse_taken(folder)
    names = differing_files(folder, files, leave)
    with disk_refusals(folder):
        for name in names:
            if name in files:
                path = _placed(folder, name)
                path.parent.mkdir(exist_ok=True)
                write_whole(path, files[name])
            else:
                (folder / name).unlink()
        for emptied in (folder / FIGURES, folder / TABLES):
            if emptied.is_dir() and not any(emptied.iterdir()):
                emptied.rmdir()
    return names


def _placed(folder: Path, name: str) -> Path:
    """Return the path of a report's file; one that is a link itself is replaced, no link above it is followed.

    Raises CorruptionError if a name that came from the rows leaves the folder.
    """
    try:
        above, _, last = relative_name(name).rpartition("/")
    except ValueError as wrong:
        raise CorruptionError(f"{folder}: {wrong}") from wrong
    return (inside(folder, above) if above else folder) / last


def refuse_taken(folder: Path) -> None:
    """Raise MachineError if a path of the report is taken by a folder, or one of its folders by a file or a link.

    Links are refused because files of an earlier report are removed from the report's folders.
    """
    files = [folder / name for name in (*REPORT_FILES.values(), DECLARATION)]
    with disk_refusals(folder):
        folders = [path for path in files if path.is_dir()]
        kept = (folder / FIGURES, folder / TABLES)
        not_folders = [path for path in kept if path.is_symlink() or (path.exists() and not path.is_dir())]
    lines = [f"{path}: is a folder, but the report writes a file of this name; move it away" for path in folders]
    lines += [
        f"{path}: is not a folder, but the report writes a folder of this name; move it away" for path in not_folders
    ]
    if lines:
        raise MachineError(lines)


def refuse_foreign(folder: Path) -> None:
    """Raise ConflictError if a folder that holds no results has files that a report would replace or remove."""
    with disk_refusals(folder):
        found = next(_report_files(folder), None)
    if found is not None:
        raise ConflictError(
            f"{folder}: holds no results of steeplechase, and {found}, which a report would "
            "replace; nothing was changed. Choose another folder, or move the file away"
        )


def _report_files(folder: Path) -> Iterator[str]:
    """Yield the paths in a folder of files that a report writes, whoever wrote them."""
    names = (*REPORT_FILES.values(), DECLARATION)
    yield from (name for name in names if (folder / name).is_file() or (folder / name).is_symlink())
    for name in (FIGURES, TABLES):
        for path in sorted((folder / name).glob("*")):
            if path.is_symlink() or not path.is_dir():
                yield f"{name}/{path.name}"


def figure_files(pictures: Iterable[Picture]) -> Iterator[tuple[str, bytes]]:
    """Yield file name and content of each figure as SVG and PDF, and of its numbers as CSV."""
    for picture in pictures:
        yield f"{picture.name}.svg", svg_document(picture.svg).encode()
        yield f"{picture.name}.pdf", picture.pdf()
        yield f"{picture.name}.csv", render_table(picture.numbers).encode()


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def put(path: Path, content: bytes) -> Path:
    """Write a file atomically unless it already has these bytes; raises OSError."""
    return path if _holds(path, content) else write_whole(path, content)
