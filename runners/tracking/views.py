"""Saved views of the experiment's page: the table of arms, and the trials with one learning curve per arm.

MLflow keeps a view as a tag of the experiment: JSON with a name, a time and a deflated state. The form is that of
MLflow's own demonstration (`mlflow/demo/generators/saved_views.py`); the state's fields are those of the page
in MLflow 3.17. A page that does not know a field ignores it.
"""

import base64
import json
import zlib
from collections.abc import Sequence

from runners.tracking.measurements import HELD_OUT_LOSS
from runners.tracking.mirrored_run import MirroredRun
from search_space.declaration import JsonValue

TAG_PREFIX = "mlflow.sharedViewState."
ARMS_VIEW = "arms"
TRIALS_VIEW = "trials"
DEFINED = 1_767_225_600_000  # milliseconds since 1970: 1 January 2026, so that sending a view again changes nothing


def saved_views(runs: Sequence[MirroredRun]) -> dict[str, str]:
    """Return the experiment's tags that hold the views; their columns are the final values that runs have."""
    keys = {point.key for run in runs for point in run.points if point.key.startswith("final/")}
    final = sorted(keys, key=lambda key: (not key.startswith(HELD_OUT_LOSS), key))
    means = [key for key in final if not key.endswith(("/sd", "/n"))]
    arms = _table("arm", [*_metrics([*final, "cost/parameters"]), _tag("trials")], None)
    trials = _table("trial", [*_metrics(means), _tag("standing"), _tag("stop_reason")], "arm")
    views = {ARMS_VIEW: ("Arms", arms), TRIALS_VIEW: ("Trials by arm", trials)}
    return {f"{TAG_PREFIX}{key}": _packed(name, state) for key, (name, state) in views.items()}


def _table(level: str, columns: Sequence[str], group_by: str | None) -> dict[str, JsonValue]:
    keys: list[JsonValue] = [{"mode": "tag", "groupByData": group_by}]
    return {
        "searchFilter": f'tags.level = "{level}"',
        "orderByKey": _metrics([HELD_OUT_LOSS])[0],
        "orderByAsc": True,
        "selectedColumns": [*columns],
        "columnOrder": [],
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
        "isAccordionReordered": False,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _metrics(keys: Sequence[str]) -> list[str]:
    return [f"metrics.`{key}`" for key in keys]


def _tag(name: str) -> str:
    return f"tags.`{name}`"


def _packed(name: str, state: dict[str, JsonValue]) -> str:
    text = json.dumps(state, separators=(",", ":"))
    deflated = base64.b64encode(zlib.compress(text.encode())).decode()
    return json.dumps({"name": name, "createdAt": DEFINED, "state": f"deflate;{deflated}"}, separators=(",", ":"))
