"""A timing report as files in its results folder: every format, and the picture alone."""

from pathlib import Path

from reports.files import REPORT_FILES, put
from reports.timing.analysis import Analysis
from reports.timing.figure import png_of, svg_of
from reports.timing.report import rendered, report_of
from runners.kept.durable import disk_refusals
from runners.timing.record import TimingRecord

SVG_NAME, PNG_NAME = "speed.svg", "speed.png"


def write_report(record: TimingRecord, folder: Path) -> tuple[Path, ...]:
    """Write the report beside the record and return the files, each there whole or not at all.

    Raises EnvironmentRefused where a file cannot be written.
    """
    analysis = Analysis(record)
    report = report_of(analysis)
    texts = {name: rendered(report, analysis, form) for form, name in REPORT_FILES.items()}
    contents = {name: text.encode() for name, text in {**texts, SVG_NAME: svg_of(analysis)}.items()}
    with disk_refusals(folder):
        return tuple(
            put(folder / name, content) for name, content in {**contents, PNG_NAME: png_of(analysis)}.items()
        )
