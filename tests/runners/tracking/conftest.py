"""A mirrored study, made once, since creating MLflow's database takes seconds."""

import shutil
from pathlib import Path

import pytest

from runners.tracking import TrackingStore, mirror
from tests.factories.tracked_study import study


@pytest.fixture(scope="session")
def mirrored_results(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Path:
    results = tmp_path_factory.mktemp("mirrored")
    shutil.copy(empty_database, results / "mlflow.db")
    report = results / "report.md"
    report.write_text("# Table 2\n")
    store = TrackingStore.resolve(results, None, {})
    assert mirror(study(), store, [report]).created == 25
    return results


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("empty")
    TrackingStore.resolve(results, None, {}).prepare(60)
    return results / "mlflow.db"


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> TrackingStore:
    """An existing, empty store."""
    results = tmp_path / "results"
    results.mkdir()
    shutil.copy(empty_database, results / "mlflow.db")
    return TrackingStore.resolve(results, None, {})
