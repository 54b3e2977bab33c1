"""A timing report as files in its results folder: every format, and the picture alone."""

from pathlib import Path

from foundation.atomic_files import disk_refusals
from ledger.timing.record import TimingRecord
from reports.links import links_beside
from reports.timing.analysis import Analysis
from reports.timing.figure import png_of, svg_of
from reports.timing.page import page
from reports.timing.report import rendered, report_of
from reports.write import REPORT_FILES, put

SVG_NAME, PNG_NAME = "speed.svg", "speed.png"


def write_report(record: TimingRecord, folder: Path) -> tuple[Path, ...]:
    """Write the report beside the record and return the files, each there whole or not at all.

    Raises MachineError where a file cannot be written.
    """
    analysis = Analysis(record)
    report = report_of(analysis)
    others = {form: name for form, name in REPORT_FILES.items() if form != "html"}
    contents = {name: rendered(report, analysis, form).encode() for form, name in others.items()}
    contents |= {SVG_NAME: svg_of(analysis).encode(), PNG_NAME: png_of(analysis)}
    with disk_refusals(folder):
        written = [put(folder / name, content) for name, content in contents.items()]
        links = links_beside(folder, tuple(others.values()))  # last: the page links to files that are there
        return put(folder / REPORT_FILES["html"], page(report, analysis, links).encode()), *written
