"""Settings of all tests: shapes checked at run time, one torch thread, default signal handlers."""

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# only the packages that hold tensors: their annotations are shapes, everywhere else mypy is enough
install_import_hook(["steeplechase.models", "steeplechase.tasks.objectives"], "beartype.beartype")

# nohup and shells without job control ignore these, and children inherit it; stops are tested with them
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# a busy machine is no failure; where CI is set, a change is judged by the same examples as the change before it
SAME_EXAMPLES = bool(os.environ.get("CI"))
settings.register_profile("random", deadline=None)
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.load_profile("fixed" if SAME_EXAMPLES else "random")


gc.disable()  # imports make millions of objects and leave no garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the audit, the longest file: at the end it would run on one process alone."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/tools/test_audit"))


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
            torch.manual_seed(0)
    yield
    if (torch := sys.modules.get("torch")) is not None:
        torch.use_deterministic_algorithms(False)
        torch.set_flush_denormal(False)
