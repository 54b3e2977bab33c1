"""Every format: golden files, hostile names, all widths, empty reports."""

import ast
import csv
import io
import os
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reports.formats import format_names, latex, render, terminal
from reports.formats.terminal import draw
from reports.report import Report, build
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import ROOT
from tests.factories.reports import Trial, document, empty, primary, search, snapshot, table2, troubled, tuned

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("STEEPLECHASE_GOLDEN") == "write"
VIEWS = {"table2": table2, "troubled": troubled, "search": search, "tuned": tuned, "empty": empty}
FORMATS = ("csv", "html", "json", "latex", "markdown", "terminal")
GOLDEN_FILES = [("table2", name) for name in FORMATS]
GOLDEN_FILES += [(view, "markdown") for view in ("troubled", "search", "tuned")]
"""Every format of one report, and what the others add to its content."""
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()|' /C calc'!A0",
    "@SUM(1+1)",
    "\\input{/etc/passwd}",
    "\\write18{id} $x^2$ 100%",
    "[red]red[/red]",
    "\x1b[31mESC\x1b]8;;http://x\x07",
    "a|b\nc\r\n| d |",
    "`code` **bold** ![i](http://x/y.png)",
    "\u202egnp.exe\u2028x",
    "-->]]><!--",
    "{{ 7 * 7 }}{% for %}",
)


@cache
def report_of(view: str) -> Report:
    shares = {"convolution": 0.7, "bottleneck_ratio": 0.2} if view == "search" else {}
    return build(replace(VIEWS[view](), importance=shares))


def rendered(report: Report, name: str) -> str:
    text = draw(report, 80, colour=False) if name == "terminal" else render(report, name)
    return re.sub(r"<svg.*?</svg>", "<svg></svg>", text, flags=re.DOTALL)  # ticks depend on matplotlib's version


def test_a_file_is_a_format() -> None:
    assert format_names() == FORMATS
    with pytest.raises(ConfigurationError, match="Allowed: csv, html"):
        render(report_of("empty"), "pdf")


@pytest.mark.parametrize(("view", "name"), GOLDEN_FILES)
def test_golden(view: str, name: str) -> None:
    path, text = GOLDEN / f"{view}.{name}", rendered(report_of(view), name)
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str, attribute: str) -> list[str]:
        return [attributes[attribute] for name, attributes in self.found if name == tag and attribute in attributes]

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.found}


@cache
def hostile_report(name: str) -> Report:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 10) for seed in (1, 2, 3)]
    for seed in (1, 2, 3):
        trials.append(Trial(name, seed).pretrained(5.0 + seed**2 / 50).tuned(name, 1, accuracy=90.0 + seed))
    paper = {"source": name, "statement": name, "orderings": []}
    resolved = document((name,), paper=paper, question=name, fine_tuning={"tasks": [name], "seeds": [1]})
    arms = {"baseline": {}, name: {"convolution": {"kind": name}}}
    view = snapshot(trials, arms, (name,), tuning_seeds=(1,), resolved=resolved, experiment=name)
    return build(view, primary=primary)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_in_every_format(name: str) -> None:
    report = hostile_report(name)
    _html_is_text(name, render(report, "html"))
    _latex_holds_no_command(render(report, "latex").removeprefix(latex.NEEDS))
    _csv_starts_no_formula(render(report, "csv"))
    _lines_stay_in_their_cells(name, render(report, "markdown"), draw(report, 100, colour=False))
    assert render(report, "json").isascii()
    for form in ("html", "latex", "csv", "json"):
        assert "\x1b" not in render(report, form)


@cache
def _plain_tags() -> set[str]:
    return Elements(render(report_of("table2"), "html")).tags


def _html_is_text(name: str, text: str) -> None:
    page = Elements(text)
    assert page.tags <= _plain_tags()
    for name_of, value in (each for _, attributes in page.found for each in attributes.items()):
        assert not name_of.startswith("on")
        assert name_of not in ("src", "href") or value.startswith(("#", "data:"))
    assert name != "{{ 7 * 7 }}{% for %}" or name in text


def _latex_holds_no_command(text: str) -> None:
    ours = {
        *("paragraph", "begin", "end", "centering", "small", "caption", "toprule", "midrule", "bottomrule", "textbf"),
        *("noindent", "par", "pm", "Delta", "times", "textbackslash", "textasciitilde", "textless", "textgreater"),
        *("textbar", "textquotedbl", "label", "tau", "gamma"),
    }
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= ours
    assert not re.search(r"(?<!\\)[%#]", text)


def _csv_starts_no_formula(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(text.splitlines()) - 1 == 2 * 2
    texts = [row[column] for row in rows for column in ("arm", "metric", "status")]
    assert not any(entry.startswith(("=", "+", "-", "@", "\t", "\r")) for entry in texts)


def _lines_stay_in_their_cells(name: str, markdown: str, drawn: str) -> None:
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table[:4]}) == 1
    assert not re.search(r"(?<!\\)[<`]", markdown)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", markdown + drawn)
    assert name != "[red]red[/red]" or "[red]red[/red]" in drawn


@cache
def letters_of_reports() -> set[str]:
    """Return the characters beyond ASCII in the texts that this project puts into reports, docstrings aside."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "reports").rglob("*.py"))
    texts = [node for tree in trees for node in ast.walk(tree)]
    documentation = {id(node.value) for node in texts if isinstance(node, ast.Expr)}
    constants = (node for node in texts if isinstance(node, ast.Constant) and id(node) not in documentation)
    return {letter for node in constants for letter in str(node.value) if not letter.isascii()}


def test_latex_has_no_letter_that_pdflatex_does_not_know() -> None:
    assert letters_of_reports() > {"Δ", "§", "τ", "∞", "α"}
    for letter in letters_of_reports():
        written = latex.escape(letter)
        assert written.encode("cp1252"), letter  # Latin-1 and the marks beside it are defined by LaTeX itself


def test_a_terminal_without_unicode_gets_no_question_mark_for_another_mark() -> None:
    for letter in letters_of_reports():
        assert letter.translate(terminal.ASCII).isascii(), letter
        assert "?" not in letter.translate(terminal.ASCII)  # which is the mark of a single seed


def test_numbers_keep_their_sign_in_csv() -> None:
    text = render(report_of("table2"), "csv")
    assert re.search(
        r"^span_dynamic,held_out_loss,3,5\.92\d{4},0\.\d{6},-0\.17\d{4},-0\.\d{6},-0\.", text, re.MULTILINE
    )


@pytest.mark.parametrize("width", [40, 140])
def test_terminal_keeps_to_its_width(width: int) -> None:
    for view in VIEWS:
        assert max(len(line) for line in draw(report_of(view), width, colour=False).splitlines()) <= width


def test_terminal_has_colour_only_where_asked_and_a_pipe_gets_plain_text() -> None:
    assert "\x1b[" in draw(report_of("table2"), 80, colour=True)
    assert "\x1b" not in render(report_of("table2"), "terminal")


def test_the_page_fetches_nothing() -> None:
    text = render(report_of("table2"), "html")
    assert "default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; img-src data:" in text
    assert "script" not in Elements(text).tags
    assert not re.search(r'(src|href)="(?!#|data:)', text.replace("xlink:href", "href"))
    assert "@import" not in text
    assert "url(http" not in text
