"""The MLflow client: the only module that imports MLflow."""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from runners.tracking.connectivity import client_environment
from runners.tracking.mirrored_run import IDENTITY_TAG, NAME_TAG, STUDY_TAG, KnownRun, MirroredRun, RunStatus

os.environ.update(client_environment(os.environ))  # MLflow reads them during import

import mlflow.store
from alembic.script import ScriptDirectory  # MLflow's schema migrations
from fastapi import FastAPI  # the framework of MLflow's server
from mlflow.entities import Experiment, Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam, SqlRun, SqlTag
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient

METRICS_PER_BATCH = 800  # MLflow takes 1000 items in one call, of them at most
ENTITIES_PER_BATCH = 100  # parameters, and as many tags
RUNS_PER_PAGE = 1000

TABLES = {"runs": SqlRun, "tags": SqlTag, "params": SqlParam, "metrics": SqlMetric, "latest_metrics": SqlLatestMetric}
"""MLflow's models of the tables of runs, by name."""

Item = TypeVar("Item")

for name in ("mlflow", "alembic"):
    logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised as exceptions


@dataclass(frozen=True)
class KnownExperiment:
    """An experiment in MLflow."""

    identifier: str
    name: str
    deleted: bool
    tags: Mapping[str, str]
    artifacts: str
    """URI of its runs' artifacts."""


def make_database(uri: str, artifacts: str) -> None:
    """Create all tables of an empty database."""
    SqlAlchemyStore(uri, artifacts).engine.dispose()


@cache
def schema_version() -> str:
    """Return the schema revision of a complete database of this MLflow version."""
    return str(ScriptDirectory(str(Path(mlflow.store.__file__).parent / "db_migrations")).get_current_head())


class TrackingClient:
    """An open tracking store. Methods may raise any exception of MLflow and its dependencies."""

    def __init__(self, uri: str) -> None:
        self._client = MlflowClient(tracking_uri=uri, registry_uri=uri)

    def experiment(self, name: str, artifacts: str | None, tags: Mapping[str, str]) -> KnownExperiment:
        """Return an experiment; create it if missing, restore it if deleted; somebody may have renamed it."""
        known = self.known_experiment(name)
        if known is None:
            try:
                self._client.create_experiment(name, artifacts, dict(tags))
            except MlflowException:  # another client may have created it
                if self.known_experiment(name) is None:
                    raise
            known = self.known_experiment(name)
            assert known
        if known.deleted:
            self._client.restore_experiment(known.identifier)
        return known

    def known_experiment(self, name: str) -> KnownExperiment | None:
        """Return an existing experiment by its name, else the one that was made under that name."""
        known = self._client.get_experiment_by_name(name)
        if known is not None:
            return _known_experiment(known)
        return next((each for each in self.experiments() if each.tags.get(NAME_TAG) == name), None)

    def experiments(self) -> list[KnownExperiment]:
        """Return the experiments, last created or renamed first."""
        experiments, token = [], None
        while True:
            page = self._client.search_experiments(order_by=["last_update_time DESC"], page_token=token)
            experiments += [_known_experiment(each) for each in page]
            token = page.token
            if not token:
                return experiments

    def tag_experiment(self, experiment: KnownExperiment, key: str, value: str) -> None:
        """Set one tag of an experiment."""
        self._client.set_experiment_tag(experiment.identifier, key, value)

    def runs(self, experiment: str, study: str) -> dict[str, KnownRun]:
        """Return all runs of a study by identity; of duplicates the oldest."""
        runs: dict[str, KnownRun] = {}
        query, token = f"tags.`{STUDY_TAG}` = '{study}'", None
        while True:
            page = self._client.search_runs(
                [experiment], query, ViewType.ACTIVE_ONLY, RUNS_PER_PAGE, ["attributes.start_time ASC"], token
            )
            for run in page:
                runs.setdefault(run.data.tags.get(IDENTITY_TAG, ""), _known(run))
            token = page.token
            if not token:
                return runs

    def create(self, experiment: str, run: MirroredRun, started: int, tags: Mapping[str, str]) -> KnownRun:
        """Create a run with its tags, in one call."""
        return _known(self._client.create_run(experiment, started, dict(tags), run.name))

    def send(self, run: KnownRun, wanted: MirroredRun, tags: Mapping[str, str]) -> None:
        """Send points, tags and the absent parameters, in as few calls as MLflow takes; then the status."""
        points = [
            Metric(point.key, point.value, run.started + point.milliseconds, point.step) for point in wanted.points
        ]
        absent = [Param(key, text) for key, text in wanted.parameters.items() if key not in run.parameters]
        given = [RunTag(key, text) for key, text in tags.items()]
        kinds = (points, METRICS_PER_BATCH), (absent, ENTITIES_PER_BATCH), (given, ENTITIES_PER_BATCH)
        for metrics, parameters, texts in zip_longest(
            *(_batches(items, size) for items, size in kinds), fillvalue=[]
        ):
            self._client.log_batch(run.run_id, metrics=metrics, params=parameters, tags=texts)
        if run.name != wanted.name:
            self._client.update_run(run.run_id, name=wanted.name)
        self.set_status(run, wanted.status, wanted.compute_milliseconds)

    def attach(self, run: KnownRun, files: Sequence[Path], texts: Mapping[str, str]) -> None:
        """Copy files and texts to the run's artifacts, replacing those of the same name."""
        for file in files:
            self._client.log_artifact(run.run_id, str(file))
        for name, text in texts.items():
            self._client.log_text(run.run_id, text, name)

    def tag(self, run: KnownRun, key: str, value: str) -> None:
        """Set one tag."""
        self._client.set_tag(run.run_id, key, value)

    def remove_tag(self, run: KnownRun, key: str) -> None:
        """Remove one tag."""
        self._client.delete_tag(run.run_id, key)

    def set_status(self, run: KnownRun, status: RunStatus, compute_milliseconds: int) -> None:
        """Set a run to running or ended; the duration of an ended run is that of its stages."""
        if status.ended:
            self._client.set_terminated(run.run_id, status.value, run.started + max(1, compute_milliseconds))
        elif status is not run.status:
            self._client.update_run(run.run_id, status.value)


def pages(uri: str, artifacts: str) -> FastAPI:
    """Return MLflow's server over a store, as an application for uvicorn, which must be imported first.

    The environment is the server's own: `server_environment`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # MLflow's warnings about its dependencies
        warnings.simplefilter("ignore", UserWarning)
        from mlflow.server import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR
        from mlflow.server.fastapi_app import app

    os.environ.update({BACKEND_STORE_URI_ENV_VAR: uri, ARTIFACT_ROOT_ENV_VAR: artifacts})
    server: FastAPI = app
    return server


def _known_experiment(known: Experiment) -> KnownExperiment:
    deleted = known.lifecycle_stage == "deleted"
    return KnownExperiment(str(known.experiment_id), known.name, deleted, known.tags, known.artifact_location)


def _known(run: Run) -> KnownRun:
    return KnownRun(
        run_id=run.info.run_id,
        name=run.info.run_name,
        started=run.info.start_time,
        ended=run.info.end_time,
        status=RunStatus(run.info.status),
        tags=run.data.tags,
        parameters=run.data.params,
        metrics={name: (value,) for name, value in run.data.metrics.items()},
        artifacts=run.info.artifact_uri,
    )


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
