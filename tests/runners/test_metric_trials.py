"""A user's metrics are tried before any stage: what fails on everything is refused, what fails on some is told."""

from pathlib import Path
from typing import Any

import pytest

from runners.metric_trials import metric_warnings, refuse_failing_metrics
from runners.opening import stages_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import DataError
from tests.factories import simulated_training as simulated
from tests.factories.plugins import loaded

LABELS, VALUES, TAGS = (
    {"text": "text", "label": "label"},
    {"text": "text", "value": "label"},
    {"text": "text", "tags": "label"},
)
TASKS: dict[str, tuple[dict[str, str], tuple[str, str]]] = {
    "labels": (LABELS, ("good", "bad")),
    "values": (VALUES, ("1.0", "2.5")),
    "tags": (TAGS, ("O B-X", "B-X O")),
}
ACCURACY = "    return 100 * sum(a == b for a, b in zip(references, predictions, strict=True)) / len(references)\n"
PRECISION = """    hits = [a for a, b in zip(references, predictions) if b == "good"]
    return 100 * hits.count("good") / len(hits)
"""


def experiment(folder: Path, kind: str) -> Experiment:
    columns, answers = TASKS[kind]
    rows = "".join(f"word{number} here,{answers[number % 2]}\n" for number in range(40))
    (folder / "rows.csv").write_text(f"text,label\n{rows}")
    own = {"kind": "table", "train": str(folder / "rows.csv"), "dev_share": 0.25, "columns": columns}
    if kind == "tags":
        own["metrics"] = ["accuracy"]
    tuning: dict[str, Any] = {"tasks": ["mine"], "own_tasks": {"mine": own}, "metrics": {"mine": ["my:own"]}}
    return simulated.experiment(folder, fine_tuning={**tuning, "seeds": [1], "sequence_length": 16})


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize(
    ("body", "refused", "told"),
    [
        (ACCURACY, "", ""),
        ("    return float('nan')\n", "", ""),
        ("    return refernces\n", "my:own: NameError: name 'refernces' is not defined", ""),
        ("    return None\n", "my:own: it returned None for 'own'; a finite number up to 1e+100", ""),
        ("    return 1 / (len({*str(predictions).split(', ')[1:-1]}) - 1)\n", "", "ZeroDivisionError"),
    ],
)
def test_a_metric_is_tried_on_right_and_on_constant_predictions(
    kind: str, body: str, refused: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "plugin" / "tasks" / "own_metrics" / "my.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"def own(references, predictions):\n{body}")
    with loaded(tmp_path / "plugin"):
        declared = experiment(tmp_path, kind)
        if refused:
            with pytest.raises(DataError) as refusal:
                stages_of(declared)
            (line,) = refusal.value.lines
            assert line.startswith(f"fine_tuning.metrics.mine: {refused}")
        else:
            refuse_failing_metrics(declared.fine_tuning)
        lines = [*metric_warnings(declared.fine_tuning)]
        assert len(lines) == bool(told)
        assert all(told in line and "has no value" in line for line in lines)


def test_a_precision_that_divides_by_its_hits_is_told_with_the_label_that_is_missed(tmp_path: Path) -> None:
    file = tmp_path / "plugin" / "tasks" / "own_metrics" / "my.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"def own(references, predictions):\n{PRECISION}")
    with loaded(tmp_path / "plugin"):
        (line,) = metric_warnings(experiment(tmp_path, "labels").fine_tuning)
    assert line.startswith(
        "fine_tuning.metrics.mine: fails on predictions that are all 'bad': my:own: ZeroDivisionErr"
    )
