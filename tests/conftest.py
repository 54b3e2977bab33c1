"""Settings of all tests: shapes checked at run time, one torch thread, default signal handlers."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import config, install_import_hook

# only the packages that hold tensors: their annotations are shapes, everywhere else mypy is enough
install_import_hook(["steeplechase.models", "steeplechase.tasks.objectives"], "beartype.beartype")

# nohup and shells without job control ignore these, and children inherit it; stops are tested with them
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# a busy machine is no failure; where CI is set, a change is judged by the same examples as the change before it
SAME_EXAMPLES = bool(os.environ.get("CI"))
settings.register_profile("random", deadline=None)
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("fixed" if SAME_EXAMPLES else "random")


gc.disable()  # imports make millions of objects and leave no garbage


HERE = Path(__file__).parent
SHAPED = ("models", "tasks")
"""Whose tests check shapes: training in the others calls the same functions, in most of its time for the checks."""
LONG = {"slow", "engines"}
CORE = (
    *("analysis", "foundation", "search_space", "configuration", "ledger", "runners/test_stage_keys.py"),
    *("reports/test_formats.py", "commands/test_exit_codes.py"),
)
"""What `pytest -m core` runs: the layers without torch, keys of stages, golden reports and exit codes."""
LONGEST = (
    *("runners/executors/test_ray_", "tools/test_faults", "reports/test_published"),
    *("commands/test_plugin_runs", "runners/search/test_search_executors"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the core; begin with the longest files: at the end each would run on one process alone."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if item.path.relative_to(HERE).as_posix().startswith(CORE) and not marks & LONG:
            item.add_marker("core")
    items.sort(key=lambda item: not item.path.relative_to(HERE).as_posix().startswith(LONGEST))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that has nothing of the core, where the core alone is run."""
    place = collection_path.relative_to(HERE).as_posix() if collection_path.is_relative_to(HERE) else "."
    inside = place == "." or any(place.startswith(each) or each.startswith(f"{place}/") for each in CORE)
    return True if config.option.markexpr == "core" and not inside else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes in a test, and in the fixtures that are made for it, where its folder is one of tensors."""
    config.update("jaxtyping_disable", not item.path.relative_to(HERE).as_posix().startswith(SHAPED))


def pytest_collection_finish() -> None:
    """Leave the tests and modules out of garbage collections, each of which would visit millions of their objects."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    """Two threads sum in another order. Torch is left alone where nothing has imported it.

    What a worker settles for its own process, flushed denormals above all, ends with the test that computed a stage.
    """
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
        if SAME_EXAMPLES:
            # torch.manual_seed keeps a traceback of every call for a GPU that is not there
            (torch if torch.cuda.is_available() else torch.default_generator).manual_seed(0)
    yield
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_deterministic_debug_mode("default")
        torch.set_flush_denormal(False)
