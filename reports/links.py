"""Links from a page to the files beside it: relative, and only to files that are there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SORTS = {
    "Tables": ("tables/*.csv",),
    "Figures": ("figures/*",),
    "Rows behind the report": ("ledger/*",),
}
"""Files of a results folder and of a published report, by patterns inside them."""


@dataclass(frozen=True)
class Link:
    """A file, relative to the page."""

    text: str
    path: str


@dataclass(frozen=True)
class LinkGroup:
    """Files of one sort."""

    title: str
    links: tuple[Link, ...]


def links_beside(folder: Path, reports: Sequence[str]) -> tuple[LinkGroup, ...]:
    """Return the files of a report's folder: the reports of these names, its tables, its figures, its rows."""
    named = tuple(name for name in reports if (folder / name).is_file())
    sorts = {title: _found(folder, patterns) for title, patterns in SORTS.items()}
    every = {"Other formats": named, **sorts}
    return tuple(LinkGroup(title, tuple(map(_link, names))) for title, names in every.items() if names)


def _found(folder: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return tuple(
        path.relative_to(folder).as_posix() for path in paths if path.is_file() and not path.name.startswith(".")
    )


def _link(path: str) -> Link:
    return Link(path.rpartition("/")[2], path)
