"""Hooks of mkdocs (`mkdocs.yml`): the site has the pages of all folders of the repository at their own paths.

A relative link is therefore the same on the site, in a checkout and where the repository is hosted. Files that pages
show or link to are copied beside them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "reports/published", "benchmarks/published", "curves", "examples", "experiments")
KINDS = (".md", ".css", ".png", ".svg", ".jsonl", ".yaml")


def paths() -> Iterator[Path]:
    """Yield every page of the repository, and what pages show or link to, relative to the root."""
    yield from (path.relative_to(ROOT) for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("*.cff")]))
    for folder in FOLDERS:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the theme's files and the repository's."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    own = [File(path.as_posix(), str(ROOT), config.site_dir, config.use_directory_urls) for path in paths()]
    return Files([*theme, *own])


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page without the backslash of `|` in code, which a table needs on GitHub and which is shown here."""
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace(r"\|", "|"), markdown)
