"""Markdown pages: relative links, images and anchors lead somewhere; whole experiments on a page are valid."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

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


def test_whole_experiments_on_the_pages_are_valid(tmp_path: Path) -> None:
    blocks = [block for page in PAGES for kind, block in FENCED.findall(page.read_text("utf-8")) if kind == "yaml"]
    whole = [block for block in blocks if re.search("^experiment:", block, re.MULTILINE)]
    assert len(whole) > 1
    for number, block in enumerate(whole):
        (tmp_path / f"{number}.yaml").write_text(block, encoding="utf-8")
        load_experiment(tmp_path / f"{number}.yaml", None)
