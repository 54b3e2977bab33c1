"""A plugin that is loaded for the length of a test, and copies of the example to change."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from configuration.plugins import Plugin, load_plugin, loaded_plugins, unload_plugin
from tests.factories.paths import ROOT

EXAMPLE = ROOT / "examples" / "gated_convolution"
KIND = "gated_dilated"
OPTION, MODULE = f"search_space/convolution/{KIND}.py", f"models/convolution/{KIND}.py"


@contextmanager
def no_plugins_left() -> Iterator[None]:
    """Unload whatever is loaded inside."""
    before = loaded_plugins()
    try:
        yield
    finally:
        for plugin in loaded_plugins():
            if plugin not in before:
                unload_plugin(plugin)


@contextmanager
def loaded(folder: Path) -> Iterator[Plugin]:
    """Load a plugin until the block ends."""
    with no_plugins_left():
        yield load_plugin(folder)


def copy_of_example(folder: Path) -> Path:
    """Return a copy of the example, to be changed."""
    return Path(shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__")))


def replaced(folder: Path, right: str, wrong: str) -> int:
    """Replace a text in every file of a plugin; return how often it was found."""
    found = 0
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        found += text.count(right)
        file.write_text(text.replace(right, wrong), encoding="utf-8")
    return found
