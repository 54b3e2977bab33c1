"""What ARCHITECTURE.md, CONTRIBUTING.md and README.md mention is there: every file, folder and name."""

import ast
import re
from pathlib import Path

import pytest

from tests.factories.paths import ROOT

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|yaml|toml|md|h)|(?:[\w.-]+/)+")
PLACEHOLDER = "NAME"
USERS = ("models/", "tasks/", "runners.py")
"""Folders of a user or of a plugin."""
MADE_LATER = ("results/", "data/", "mlflow.db")
"""Folders and files that commands make."""


def mentions(document: str) -> list[tuple[str, str]]:
    """Return (file or folder, name in it or nothing) for everything in backticks that is a path of the repository."""
    found = []
    for quoted in QUOTED.findall((ROOT / document).read_text(encoding="utf-8")):
        path, _, name = quoted.partition(":")
        in_project = not path.startswith(USERS)
        if (
            in_project
            and FILE.fullmatch(path)
            and ("/" in path or (ROOT / path).exists())
            and not path.startswith(MADE_LATER)
        ):
            found.append((path, name if name.isidentifier() else ""))
    return found


def names_in(path: Path) -> set[str]:
    """Return the functions, classes and constants that a module defines."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_and_name_that_is_mentioned_exists(document: str) -> None:
    missing = []
    for path, name in mentions(document):
        place = Path(path).parent if PLACEHOLDER in Path(path).name else Path(path)
        if not (ROOT / place).exists():
            missing.append(path)
        elif name and name not in names_in(ROOT / path):
            missing.append(f"{path}:{name}")
    assert not missing


def test_the_documents_mention_files_at_all() -> None:
    assert len(mentions("ARCHITECTURE.md")) > 40
    assert any(name for _, name in mentions("ARCHITECTURE.md"))
