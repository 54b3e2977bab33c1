"""The MLflow client: the only module that imports MLflow."""

import logging
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from runners.tracking.connectivity import client_environment
from runners.tracking.mirrored_run import IDENTITY_TAG, STUDY_TAG, KnownRun, MirroredRun, RunStatus

os.environ.update(client_environment(os.environ))  # MLflow reads them during import

from fastapi import FastAPI  # the framework of MLflow's server
from mlflow.entities import Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient

METRICS_PER_BATCH = 800  # MLflow takes 1000 items in one call, of them at most
PARAMETERS_PER_BATCH = 100
RUNS_PER_PAGE = 1000
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # else the page asks for the type

Item = TypeVar("Item")

for name in ("mlflow", "alembic"):
    logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised as exceptions


def make_database(uri: str, artifacts: str) -> None:
    """Create all tables of an empty database."""
    SqlAlchemyStore(uri, artifacts).engine.dispose()


class TrackingClient:
    """An open tracking store. Methods may raise any exception of MLflow and its dependencies."""

    def __init__(self, uri: str) -> None:
        self._client = MlflowClient(tracking_uri=uri, registry_uri=uri)

    def experiment(self, name: str, artifacts: str | None) -> str:
        """Return the identifier of an experiment; create it if missing, restore it if deleted."""
        known = self._client.get_experiment_by_name(name)
        if known is None:
            try:
                return str(self._client.create_experiment(name, artifacts, EXPERIMENT_TAGS))
            except MlflowException:  # another client may have created it
                known = self._client.get_experiment_by_name(name)
                if known is None:
                    raise
        if known.lifecycle_stage == "deleted":
            self._client.restore_experiment(known.experiment_id)
        return str(known.experiment_id)

    def experiments(self) -> dict[str, str]:
        """Return the identifiers of the experiments by name, those last created or renamed first."""
        found, token = dict[str, str](), None
        while True:
            page = self._client.search_experiments(order_by=["last_update_time DESC"], page_token=token)
            found |= {each.name: str(each.experiment_id) for each in page}
            token = page.token
            if not token:
                return found

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

    def delete(self, run: KnownRun) -> None:
        """Delete a run, as MLflow's page does."""
        self._client.delete_run(run.run_id)

    def send(self, run: KnownRun, wanted: MirroredRun, tags: Mapping[str, str]) -> None:
        """Send the status, then what is absent of points and parameters, and the tags when all else is there."""
        self.set_status(run, wanted.status, wanted.compute_milliseconds)
        now = time.time_ns() // 1_000_000
        points = [
            Metric(point.key, point.value, run.started + point.milliseconds if point.step else now, point.step)
            for point in wanted.points
            if point.step or run.metrics.get(point.key) != point.value
        ]
        absent = [Param(key, text) for key, text in wanted.parameters.items() if key not in run.parameters]
        kinds = (points, METRICS_PER_BATCH), (absent, PARAMETERS_PER_BATCH)
        for metrics, parameters in zip_longest(*(_batches(*kind) for kind in kinds), fillvalue=[]):
            self._client.log_batch(run.run_id, metrics=metrics, params=parameters)
        self._client.log_batch(run.run_id, tags=[RunTag(key, text) for key, text in tags.items()])

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
        from mlflow.server import ARTIFACTS_DESTINATION_ENV_VAR, BACKEND_STORE_URI_ENV_VAR, SERVE_ARTIFACTS_ENV_VAR
        from mlflow.server.fastapi_app import app

    places = {BACKEND_STORE_URI_ENV_VAR: uri, ARTIFACTS_DESTINATION_ENV_VAR: artifacts}
    os.environ.update({**places, SERVE_ARTIFACTS_ENV_VAR: "true"})
    server: FastAPI = app
    return server


def _known(run: Run) -> KnownRun:
    return KnownRun(
        run_id=run.info.run_id,
        started=run.info.start_time,
        status=RunStatus(run.info.status),
        tags=run.data.tags,
        parameters=run.data.params,
        metrics=run.data.metrics,
    )


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
