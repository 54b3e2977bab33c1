"""Relative links from a page to the existing files of its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SORTS = {
    "Interactive page": ("explore.html",),
    "Experiment": ("report.yaml",),
    "Tables": ("tables/*.csv",),
    "Figures": ("figures/*",),
    "Rows behind the report": ("ledger/*",),
}
"""Files of a results folder or a published report, by glob patterns."""


@dataclass(frozen=True)
class Link:
    """A file, relative to the page."""

    text: str
    path: str


@dataclass(frozen=True)
class LinkGroup:
    """Files of one kind."""

    title: str
    links: tuple[Link, ...]


def links_beside(folder: Path, reports: Sequence[str]) -> tuple[LinkGroup, ...]:
    """Return the links to the files of a report's folder: other formats, tables, figures and ledger rows."""
    named = tuple(name for name in reports if (folder / name).is_file())
    sorts = {title: _files(folder, patterns) for title, patterns in SORTS.items()}
    groups = {"Other formats": named, **sorts}
    return tuple(LinkGroup(title, tuple(map(_link, names))) for title, names in groups.items() if names)


def _files(folder: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return tuple(
        path.relative_to(folder).as_posix() for path in paths if path.is_file() and not path.name.startswith(".")
    )


def _link(path: str) -> Link:
    return Link(path.rpartition("/")[2], path)
