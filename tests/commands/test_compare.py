"""`steeplechase compare`: any two arms of a folder, and the refusals."""

import json
from pathlib import Path

from tests.factories.command_calls import ROOT, Call

PUBLISHED = ROOT / "reports" / "published"
WIKIPEDIA = PUBLISHED / "table2-wikipedia"


def test_the_named_arms_are_compared_on_the_headline_metrics(call: Call) -> None:
    answer = call("compare", WIKIPEDIA, "span_dynamic", "dynamic", "depthwise", "--format", "json")
    assert answer.code == 0, answer.err
    (table,) = json.loads(answer.out)["tables"]
    shown = [(row["arm"], row["reference"], row["metric"]) for row in table["rows"]]
    pairs = [("span_dynamic", "dynamic"), ("span_dynamic", "depthwise"), ("dynamic", "depthwise")]
    assert shown == [(*pair, "held_out_loss") for pair in pairs]  # SQuAD is below its references
    assert all(row["p_adjusted"] >= row["p"] for row in table["rows"])


def test_all_wrong_names_are_refused_at_once_with_suggestions(call: Call) -> None:
    answer = call("compare", WIKIPEDIA, "span_dynamc", "dynamic", "dynamic", "--metric", "squad")
    assert answer.code == 3
    assert answer.out == ""
    arm, twice, metric = answer.err.splitlines()
    assert arm.endswith("Did you mean span_dynamic?")
    assert metric.startswith("'squad' is not a metric; allowed: held_out_loss, squad_v1_1")
    assert twice == "'dynamic' is named twice"


def test_what_has_no_two_arms_is_refused(call: Call, tmp_path: Path) -> None:
    timed = call("compare", PUBLISHED / "table9-laptop")
    assert (timed.code, timed.out) == (4, "")
    assert "no model is trained; `steeplechase report` has its comparisons" in timed.err
    missing = call("compare", tmp_path / "nowhere")
    assert missing.code != 0
    assert len(missing.err.splitlines()) == 1
