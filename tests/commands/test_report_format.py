"""Printed reports: UTF-8 in every format for files, ASCII in a terminal that has nothing else."""

import io
import sys

import pytest

from commands.report_format import TERMINAL, print_report
from reports.formats import format_names, render
from reports.report import build
from tests.factories.reports import table2


@pytest.mark.parametrize("form", format_names())
def test_a_printed_report_is_whole_whatever_the_encoding_of_standard_output(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = io.BytesIO()
    with io.TextIOWrapper(printed, encoding="ascii") as output:
        monkeypatch.setattr(sys, "stdout", output)
        report = build(table2())
        print_report(report, form)
        output.flush()
        text = printed.getvalue().decode("ascii" if form == TERMINAL else "utf-8")
        assert text == render(report, form)
