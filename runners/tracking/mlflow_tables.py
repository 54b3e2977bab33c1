"""Runs of a SQLite store, read and written many at a time through the tables of MLflow's models.

MLflow's own calls take 40 ms of processor time a run, since its object mapper handles the rows one by one and reads
the run anew for each call. The rows are the same; `database.py` refuses a file of another schema.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, create_engine, delete, func, insert, select, update
from sqlalchemy.pool import NullPool

from runners.tracking.mirrored_run import (
    IDENTITY_TAG,
    STUDY_TAG,
    TRANSIENT_TAGS,
    KnownRun,
    MirroredRun,
    Point,
    RunStatus,
    latest,
)
from runners.tracking.mlflow_client import TABLES

RUNS, TAGS, PARAMETERS, METRICS, LATEST = (model.__table__ for model in TABLES.values())
ACTIVE = "active"
NAME = "mlflow.runName"
"""The tag in which MLflow repeats the name of a run."""
SOURCE = {
    "source_type": "UNKNOWN",
    "source_name": "",
    "entry_point_name": "",
    "source_version": "",
    "user_id": "unknown",
}
WAIT_SECONDS = 20.0
"""For another client that writes the file."""
LONGEST_TEXT = 8000
"""Characters of a tag or a parameter, MLflow's limit."""

Rows = list[dict[str, Any]]


class RunTables:
    """The tables of runs; methods may raise any exception of SQLAlchemy."""

    def __init__(self, uri: str) -> None:
        self._engine = create_engine(uri, poolclass=NullPool, connect_args={"timeout": WAIT_SECONDS})

    def runs(self, experiment: str, study: str) -> dict[str, KnownRun]:
        """Return all runs of a study by identity; of duplicates the oldest."""
        named = select(TAGS.c.run_uuid).where(TAGS.c.key == STUDY_TAG, TAGS.c.value == study)
        active = (RUNS.c.lifecycle_stage == ACTIVE, RUNS.c.experiment_id == int(experiment))
        query = select(RUNS).where(RUNS.c.run_uuid.in_(named), *active).order_by(RUNS.c.start_time)
        key, of_run = METRICS.c.key, METRICS.c.run_uuid
        sums = (func.count(), func.total(METRICS.c.value), func.total(METRICS.c.step))
        totals = select(of_run, key, *sums).where(of_run.in_(named)).group_by(of_run, key)
        with self._engine.connect() as connection:
            runs = connection.execute(query).all()
            tags, parameters = (
                _by_run(
                    connection.execute(
                        select(each.c.run_uuid, each.c.key, each.c.value).where(each.c.run_uuid.in_(named))
                    )
                )
                for each in (TAGS, PARAMETERS)
            )
            metrics = _by_run((run, name, (*numbers,)) for run, name, *numbers in connection.execute(totals))
        found: dict[str, KnownRun] = {}
        for run in runs:
            known = KnownRun(
                run_id=run.run_uuid,
                name=run.name,
                started=run.start_time,
                ended=run.end_time,
                status=RunStatus(run.status),
                tags=tags[run.run_uuid],
                parameters=parameters.get(run.run_uuid, {}),
                metrics=metrics.get(run.run_uuid, {}),
                artifacts=run.artifact_uri,
            )
            found.setdefault(known.tags.get(IDENTITY_TAG, ""), known)
        return found

    def write(self, experiment: str, runs: Sequence[tuple[KnownRun, MirroredRun, Mapping[str, str]]]) -> None:
        """Write runs with their tags in one transaction, those without tags in MLflow as new ones.

        What is there under the keys of a run is replaced, transient tags and summaries that it has no more are
        removed, and what others have added is kept.
        """
        created = [(known, run) for known, run, _ in runs if not known.tags]
        present = [(known, run) for known, run, _ in runs if known.tags]
        common = {**SOURCE, "experiment_id": int(experiment), "lifecycle_stage": ACTIVE}
        rows = {
            TAGS: [
                _row(known, key, value=text[:LONGEST_TEXT])
                for known, run, tags in runs
                for key, text in {**tags, NAME: run.name}.items()
            ],
            PARAMETERS: [
                _row(known, key, value=text) for known, run, _ in runs for key, text in run.parameters.items()
            ],
            METRICS: [_metric(known, point) for known, run, _ in runs for point in dict.fromkeys(run.points)],
            LATEST: [_metric(known, point) for known, run, _ in runs for point in latest(run.points).values()],
        }
        former = {known.run_id for known, _ in present}
        with self._engine.begin() as connection:
            if created:
                own = (
                    {"run_uuid": known.run_id, "artifact_uri": known.artifacts, **_info(known, run)}
                    for known, run in created
                )
                connection.execute(insert(RUNS), [{**common, **row} for row in own])
            if present:
                infos = [{"run": known.run_id, **_info(known, run)} for known, run in present]
                connection.execute(update(RUNS).where(RUNS.c.run_uuid == bindparam("run")), infos)
            for table, new in rows.items():
                gone = {(row["run_uuid"], row["key"]) for row in new if row["run_uuid"] in former}
                if table is TAGS:
                    gone |= {(run, tag) for run in former for tag in TRANSIENT_TAGS}
                elif table is not PARAMETERS:
                    gone |= {(known.run_id, key) for known, run in present for key in known.stale(run)}
                if gone:
                    one = (table.c.run_uuid == bindparam("run"), table.c.key == bindparam("of"))
                    connection.execute(
                        delete(table).where(*one), [{"run": run, "of": key} for run, key in sorted(gone)]
                    )
                if new:
                    connection.execute(insert(table), new)


def _by_run(rows: Iterable[Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for run, key, value in rows:
        found.setdefault(run, {})[key] = value
    return found


def _info(known: KnownRun, run: MirroredRun) -> dict[str, Any]:
    return {"name": run.name, "status": run.status.value, "start_time": known.started, "end_time": known.end_of(run)}


def _row(known: KnownRun, key: str, **values: Any) -> dict[str, Any]:
    return {"run_uuid": known.run_id, "key": key, **values}


def _metric(known: KnownRun, point: Point) -> dict[str, Any]:
    time = known.started + point.milliseconds
    return _row(known, point.key, value=point.value, timestamp=time, step=point.step, is_nan=False)
