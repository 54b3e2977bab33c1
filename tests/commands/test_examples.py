"""The example folders of tasks, metrics, schedules and optimisers, and what a metric of a user's own must return."""

from pathlib import Path

import pytest

from runners.dag import shared_stages, trial_stages
from steeplechase.commands.plugin_contracts import checked, unused_files
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.tasks.own_metrics import own_scores
from tests.factories.paths import ROOT
from tests.factories.plugins import copy_of, loaded

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    "name",
    [
        *("lion_optimiser", "power_schedule", "repeated_word", "weighted_metric", "embedding_geometry"),
        "reference_corpus",
    ],
)
def test_every_contract_of_an_example_holds_and_its_experiment_is_valid(name: str, tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / name, tmp_path / "plugin")
    with loaded(folder) as plugin:
        outcomes = [*checked(plugin), *unused_files(plugin)]
        assert outcomes
        assert [each for each in outcomes if each.problem] == []
        for scale in ("smoke", "laptop"):
            assert load_experiment(folder / "experiment.yaml", scale).experiment == name


METRICS = """
from statistics import mean
def agreed(references, predictions):
    return 100 * mean(a == b for a, b in zip(references, predictions))
def by_label(references, predictions):
    return {"yes": 50.0}
def failing(references, predictions):
    raise RuntimeError("no")
def text(references, predictions):
    return "high"
def endless(references, predictions):
    return float("inf")
"""


def test_a_metric_is_a_function_that_its_own_file_defines_and_returns_finite_numbers(tmp_path: Path) -> None:
    file = tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(METRICS)
    with loaded(tmp_path / "plugin"):
        assert own_scores("mine:agreed", ["a", "b"], ["a", "a"]) == {"agreed": 50.0}
        assert own_scores("mine:by_label", [], []) == {"by_label.yes": 50.0}
        for name, reason in {
            "mean": "defines no function mean",
            "absent": "defines no function absent",
            "failing": "RuntimeError: no",
            "text": "it returned 'high'",
            "endless": "it returned inf",
        }.items():
            with pytest.raises(DataError, match=reason):
                own_scores(f"mine:{name}", ["a"], ["a"])


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ('{ word_order: ["cost:weighted_accuracy"] }', "no folder of `plugins` has tasks/own_metrics/cost.py"),
        ('{ word_order: ["costs:weighted"] }', "defines no function weighted"),
        ('{ word_order: ["weighted"] }', "is not FILE:FUNCTION"),
        ('{ word_orders: ["costs:recall"] }', "is not among the tasks"),
        ('{ word_order: ["costs:recall", "costs:recall"] }', "listed twice"),
    ],
)
def test_metrics_that_cannot_be_computed_are_refused_with_their_line(
    metrics: str, message: str, tmp_path: Path
) -> None:
    folder = copy_of(EXAMPLES / "weighted_metric", tmp_path / "plugin")
    file = folder / "experiment.yaml"
    text = file.read_text()
    declared = text[text.index("metrics:") : text.index("# beside")]
    file.write_text(text.replace(declared, f"metrics: {metrics} "))
    with loaded(folder), pytest.raises(ConfigurationError, match=message):
        load_experiment(file, "smoke")


def test_a_measurement_is_a_stage_whose_key_has_its_source(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    file = folder / "tasks" / "own_measurements" / "geometry.py"
    found = []
    for text in (file.read_text(), file.read_text().replace("PAIRS = 1000", "PAIRS = 2000")):
        file.write_text(text)
        with loaded(folder):
            experiment = load_experiment(folder / "experiment.yaml", "smoke")
            stages = trial_stages(experiment, shared_stages(experiment), experiment.baseline, 1)
            found.append({label: stage.key for label, stage in stages.items()})
    first, second = found
    changed = {label for label in first if first[label] != second[label]}
    assert changed == {"own_measurement rank", "own_measurement cosine"}


def test_a_measurement_that_changes_the_encoder_breaks_its_contract(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    (folder / "tasks" / "own_measurements" / "mine.py").write_text(
        "def pruned(encoder, tokens):\n"
        "    for weights in encoder.parameters():\n        weights.data.zero_()\n    return 1.0\n"
        "def text(encoder, tokens):\n    return 'high'\n"
    )
    with loaded(folder) as plugin:
        problems = {(each.option, each.contract): each.problem for each in checked(plugin) if each.problem}
    assert "changed: " in problems["mine:pruned", "it leaves the encoder and its mode as they were"]
    assert "it returned 'high'" in problems["mine:text", "it returns finite numbers"]
