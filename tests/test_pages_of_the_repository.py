"""Markdown pages: links and anchors lead somewhere; experiments and parts of them, Python and commands are valid."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from steeplechase.commands.main import COMMANDS, imported
from steeplechase.configuration.loading import load_experiment
from tests.factories.paths import ROOT

FOLDERS = ("benchmarks", "curves", "docs", "examples", "reports", "tests")
PAGES = sorted({*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))})
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z]+:")


@cache
def text_of(page: Path) -> str:
    """Return a page without its code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found, times = set[str](), Counter[str]()
    for heading in HEADING.findall(text_of(page)):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.add(f"{anchor}-{times[anchor]}" if times[anchor] else anchor)
        times[anchor] += 1
    return frozenset(found)


def dead_links(page: Path) -> list[str]:
    links = [link for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page))) if not ELSEWHERE.match(link)]
    return [link for link in links if not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or (target.suffix == ".md" and anchor in anchors(target)))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_or_anchor_is_found(tmp_path: Path) -> None:
    page, code = tmp_path / "page.md", "```\n[](x.md)\n```"
    page.write_text(f"# A `b`: c\n## A b c\n[](#a-b-c) [](#a-b-c-1) [](#a-c) [](no.md) ![](page.md)\n{code}\n")
    assert dead_links(page) == ["#a-c", "no.md"]


FOLDERS_OF_CODE = "benchmarks|curves|docs|examples|experiments|reports|runners|search_space|steeplechase|tests|tools"
FILE = re.compile(rf"`((?:{FOLDERS_OF_CODE})/[a-z0-9_/]+\.[a-z]+)")


def test_every_file_of_the_repository_that_a_page_names_exists() -> None:
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which names what was removed
    named = {(page.relative_to(ROOT).as_posix(), file) for page in pages for file in FILE.findall(text_of(page))}
    assert len(named) > 100
    assert [(page, file) for page, file in sorted(named) if not (ROOT / file).exists()] == []


REFERENCE = ROOT / "docs" / "reference.md"  # its examples have a test of their own
EXPERIMENT = re.compile(r"^experiment:", re.MULTILINE)
COMMAND = re.compile(r"^ *steeplechase ([a-z][^#\n]*)|`steeplechase ([a-z][^`\n]*)`", re.MULTILINE)
TRAINS = "steeplechase.run("
KUBERNETES = "apiVersion:"


def blocks(language: str) -> list[Any]:
    """Return the code of a language on the pages, each with its page and number there."""
    found = [(page, FENCED.findall(page.read_text("utf-8"))) for page in PAGES if page != REFERENCE]
    each = [(page, at, code) for page, codes in found for at, (kind, code) in enumerate(codes) if kind == language]
    return [pytest.param(dedent(code), id=f"{page.relative_to(ROOT)}-{at}") for page, at, code in each]


@pytest.mark.parametrize("block", blocks("yaml"))
def test_every_yaml_on_a_page_is_an_experiment_or_a_part_that_is_valid_over_that_of_the_front_page(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block.startswith(KUBERNETES):
        pytest.skip("a file for Kubernetes")
    monkeypatch.chdir(ROOT)  # where a reader pastes it
    whole = next(code for kind, code in FENCED.findall((ROOT / "README.md").read_text("utf-8")) if kind == "yaml")
    page = tmp_path / "page.yaml"
    if EXPERIMENT.search(block):
        page.write_text(block, encoding="utf-8")
        load_experiment(page, None)
    else:
        page.write_text(f"{whole}\nscales:\n  page:\n{indent(block, '    ')}", encoding="utf-8")
        load_experiment(page, "page")


@pytest.mark.parametrize("block", blocks("python"))
def test_every_python_on_a_page_runs_or_where_it_trains_compiles(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code = compile(block, "page", "exec")
    if TRAINS not in block:
        exec(code, {})


def test_every_command_on_a_page_exists_with_the_options_that_are_written() -> None:
    texts = [page.read_text("utf-8").replace("\\\n", " ") for page in PAGES]
    lines = sorted({found for text in texts for each in COMMAND.findall(text) for found in each if found})
    assert len(lines) > 60
    assert {line: wrong for line in lines if (wrong := unknown_words(line))} == {}


def test_an_unknown_command_and_an_unknown_option_are_found() -> None:
    lines = ("run FILE --workers 2", "data fetch cola --json", "runs FILE", "run FILE --worker 2", "data fetch --all")
    assert [unknown_words(line) for line in lines] == [[], [], ["runs"], ["--worker"], ["--all"]]


def unknown_words(line: str) -> list[str]:
    """Return the command or the options of a line that the command line does not have."""
    name, *words = line.split()
    if name not in COMMANDS:
        return [name]
    command = imported(name)
    inner = getattr(command, "commands", {})
    command = inner.get(words[0], command) if words else command
    known = {"--help", *(option for each in command.params for option in each.opts)}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
