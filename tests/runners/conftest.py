"""The smoke run, made once: the reference for all executors."""

import pytest

from tests.factories.command_line import SMOKE, Run
from tests.factories.shared_runs import shared_run


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return `SMOKE`, run to its end by two workers and mirrored to MLflow."""
    return shared_run(tmp_path_factory, "smoke", *SMOKE, mirrored=True)
