"""A timing report as files in its results folder: every format, and the picture alone."""

from pathlib import Path

from reports.files import REPORT_FILES
from reports.links import links_beside
from reports.timing.analysis import Analysis
from reports.timing.figure import save_png, svg_of
from reports.timing.page import page
from reports.timing.report import rendered, report_of
from runners.timing.record import TimingRecord

SVG_NAME, PNG_NAME = "speed.svg", "speed.png"


def write_report(record: TimingRecord, folder: Path) -> tuple[Path, ...]:
    """Write the report beside the record and return the files, each there whole or not at all."""
    analysis = Analysis(record)
    report = report_of(analysis)
    others = {form: name for form, name in REPORT_FILES.items() if form != "html"}
    texts = {name: rendered(report, analysis, form) for form, name in others.items()}
    written = [_put(folder / name, text) for name, text in {**texts, SVG_NAME: svg_of(analysis)}.items()]
    unfinished = folder / f".{PNG_NAME}.writing"
    save_png(analysis, unfinished)
    written.append(unfinished.replace(folder / PNG_NAME))
    files = links_beside(folder, tuple(others.values()))  # last: the page links to files that are there
    return _put(folder / REPORT_FILES["html"], page(report, analysis, files)), *written


def _put(path: Path, text: str) -> Path:
    unfinished = path.with_name(f".{path.name}.writing")
    unfinished.write_text(text, encoding="utf-8")
    return unfinished.replace(path)
