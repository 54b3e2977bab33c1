"""Saved views of the experiment's page: the table of arms, and the trials with one learning curve per arm.

MLflow keeps a view as a tag of the experiment: JSON with a name, a time and a deflated state. The form is that of
MLflow's own demonstration (`mlflow/demo/generators/saved_views.py`); the state's fields are those of the page
in MLflow 3.17. Pages ignore unknown fields.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence

from runners.tracking.measurements import AUDIT, DELTAS, HELD_OUT_CURVE, HELD_OUT_LOSS, SCORE, TRAIN_CURVE
from runners.tracking.mirrored_run import MirroredRun, RunStatus
from steeplechase.foundation.schema import JsonValue

TAG_PREFIX = "mlflow.sharedViewState."
ARMS_VIEW = "arms"
TRIALS_VIEW = "trials"
DEFINED = 1_767_225_600_000  # milliseconds since 1970: 1 January 2026, so that sending a view again changes nothing
PARAMETERS = "size/parameters"
FIXED_COLUMNS = ("attributes.`Run Name`", "runDateAndNestInfo", "duration")
"""Built-in columns of the page, pinned to the left."""
SPREADS = ("/sd", "/n", "/low", "/high")
CHARTS = "loss"
ARM_METRICS = (HELD_OUT_LOSS, DELTAS[HELD_OUT_LOSS], SCORE, DELTAS[SCORE], PARAMETERS)
RANGE_MARGIN = 0.05  # share of a chart's height above and below the curves


def saved_views(runs: Sequence[MirroredRun]) -> dict[str, str]:
    """Return the experiment's tags that hold the views; columns and charts are of the metrics that runs have."""
    keys = sorted({point.key for run in runs for point in run.points})
    tasks = [key for key in keys if key.startswith("task/") and not key.endswith(SPREADS)]
    tags = {name for run in runs for name in run.tags}
    arms = [_metric(key) for key in ARM_METRICS if key in keys]
    arms += [_tag(name) for name in ("standing", "difference") if name in tags]
    trials = [_metric(key) for key in (HELD_OUT_LOSS, SCORE, *tasks) if key in keys]
    trials += [_tag(name) for name in ("standing", "stop_reason", "audit") if name in tags]
    hidden = [_chart(key, "BAR", key, {"deleted": True, "metricKey": key}) for key in keys if key.endswith(SPREADS)]
    views = {
        ARMS_VIEW: ("Arms", _table("arm", arms, None) | _charts([*_scatter(keys), *hidden])),
        TRIALS_VIEW: ("Trials by arm", _table("trial", trials, "arm") | _charts(_curves(runs))),
    }
    return {f"{TAG_PREFIX}{key}": _packed(name, state) for key, (name, state) in views.items()}


def _table(level: str, columns: Sequence[str], group_by: str | None) -> dict[str, JsonValue]:
    keys: list[JsonValue] = [{"mode": "tag", "groupByData": group_by}]
    return {
        "searchFilter": f'tags.level = "{level}"',
        "orderByKey": _metric(HELD_OUT_LOSS),
        "orderByAsc": True,
        "selectedColumns": [*columns],
        "columnOrder": [*FIXED_COLUMNS, *columns],
        "columnWidths": {},
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsVisibilityMap": {},
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": {"aggregateFunction": "average", "groupByKeys": keys} if group_by else None,
        "groupsExpanded": {},
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "autoRefreshEnabled": False,
        "viewMaximized": False,
        "runListHidden": False,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _charts(cards: Sequence[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return a section of charts before the automatic ones of the page."""
    section: dict[str, JsonValue] = {"uuid": CHARTS, "name": CHARTS, "display": True, "columns": 2, "cardHeight": 450}
    sections: list[JsonValue] = [section | {"isReordered": False, "deleted": False, "isGenerated": False}]
    return {"compareRunCharts": [*cards], "compareRunSections": sections, "isAccordionReordered": True}


def _curves(runs: Sequence[MirroredRun]) -> list[dict[str, JsonValue]]:
    """Return one chart per curve, with the range of the held-out losses, since a range from 0 hides differences.

    Diverged trials are excluded from the range.
    """
    sound = [run for run in runs if run.status is not RunStatus.FAILED]
    losses = [point.value for run in sound for point in run.points if point.key == HELD_OUT_CURVE]
    if not losses:
        return []
    margin = RANGE_MARGIN * (max(losses) - min(losses))
    span: JsonValue = {"yMin": min(losses) - margin, "yMax": max(losses) + margin} if margin else {}
    line: dict[str, JsonValue] = {
        "xAxisKey": "step",
        "useGlobalXaxisKey": True,
        "scaleType": "linear",
        "xAxisScaleType": "linear",
        "lineSmoothness": 0,  # the page smooths by default
        "useGlobalLineSmoothing": True,
        "range": span,
    }
    titles = {HELD_OUT_CURVE: "held-out loss by tokens", TRAIN_CURVE: "training loss by tokens"}
    audits = f"{AUDIT}{HELD_OUT_CURVE}"
    if any(point.key == audits for run in runs for point in run.points):
        titles |= {audits: "audit: held-out loss by tokens after the hurdle"}
    return [
        _chart(key, "LINE", title, {"metricKey": key, "selectedMetricKeys": [key], **line})
        for key, title in titles.items()
    ]


def _scatter(keys: Sequence[str]) -> list[dict[str, JsonValue]]:
    """Return a chart of the arms' loss by parameters, if there are losses."""
    axes: dict[str, JsonValue] = {
        axis: {"key": key, "type": "METRIC"} for axis, key in (("xaxis", PARAMETERS), ("yaxis", HELD_OUT_LOSS))
    }
    title = "held-out loss by parameters"
    return [_chart("size", "SCATTER", title, axes)] if HELD_OUT_LOSS in keys else []


def _chart(uuid: str, kind: str, title: str, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    card: dict[str, JsonValue] = {"uuid": uuid, "type": kind, "displayName": title, "metricSectionId": CHARTS}
    return {**card, "runsCountToCompare": 100, "deleted": False, "isGenerated": False, **settings}


def _metric(key: str) -> str:
    return f"metrics.`{key}`"


def _tag(name: str) -> str:
    return f"tags.`{name}`"


def _packed(name: str, state: dict[str, JsonValue]) -> str:
    text = json.dumps(state, separators=(",", ":"))
    deflated = base64.b64encode(zlib.compress(text.encode())).decode()
    return json.dumps({"name": name, "createdAt": DEFINED, "state": f"deflate;{deflated}"}, separators=(",", ":"))
