"""The example folders of tasks, metrics, schedules and optimisers, and what a metric of a user's own must return."""

from importlib import import_module
from pathlib import Path

import pytest
import torch

from runners.dag import shared_stages, trial_stages
from runners.training.optimisers import build_optimiser
from steeplechase.commands.plugin_contracts import checked, unused_files
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.tasks.contracts.own_metrics import own_metric_contracts
from steeplechase.tasks.contracts.tasks import task_contracts
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.own_metrics import function_of, module_of, own_scores
from tests.factories.paths import ROOT
from tests.factories.plugins import copy_of, loaded

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    "name", ["lion_optimiser", "power_schedule", "repeated_word", "weighted_metric", "embedding_geometry"]
)
def test_every_contract_of_an_example_holds_and_its_experiment_is_valid(name: str, tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / name, tmp_path / "plugin")
    with loaded(folder) as plugin:
        outcomes = [*checked(plugin), *unused_files(plugin)]
        assert outcomes
        assert [each for each in outcomes if each.problem] == []
        for scale in ("smoke", "laptop"):
            assert load_experiment(folder / "experiment.yaml", scale).experiment == name


def test_lion_moves_every_weight_by_the_sign_of_algorithm_2(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "lion_optimiser", tmp_path / "plugin")
    with loaded(folder):
        recipe = load_experiment(folder / "experiment.yaml", "smoke").arms[1].candidate.recipe
        recipe = recipe.model_copy(update={"weight_decay": 0.1})
        layer = torch.nn.Linear(3, 2, bias=False)
        optimiser = build_optimiser(layer, recipe)
        weight, momentum = layer.weight.detach().clone(), torch.zeros(2, 3)
        for number in range(3):
            gradient = torch.randn(2, 3, generator=torch.Generator().manual_seed(number))
            for group in optimiser.param_groups:
                group["lr"] = 0.01
            layer.weight.grad = gradient.clone()
            optimiser.step()
            weight = weight - 0.01 * ((0.9 * momentum + 0.1 * gradient).sign() + 0.1 * weight)
            momentum = 0.99 * momentum + 0.01 * gradient
            torch.testing.assert_close(layer.weight.detach(), weight)


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


def test_a_metric_that_knows_no_invented_label_is_skipped_and_one_that_returns_no_number_is_broken(
    tmp_path: Path,
) -> None:
    file = tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    file.parent.mkdir(parents=True)
    recall = """
def recall(references, predictions):
    asked = [b for a, b in zip(references, predictions) if a == "code"]
    return 100 * sum(b == "code" for b in asked) / len(asked)
def text(references, predictions):
    return "high"
"""
    file.write_text(recall)
    with loaded(tmp_path / "plugin"):
        outcomes = {each.option: each for each in own_metric_contracts(import_module(module_of("mine:recall")))}
    assert "it knows none of the invented labels" in outcomes["mine:recall"].skipped
    assert "it returned 'high'" in outcomes["mine:text"].problem


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


GEOMETRY = "steeplechase.tasks.own_measurements"


def test_the_effective_rank_is_the_number_of_equal_directions(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    with loaded(folder):
        rank = function_of("geometry:effective_rank", GEOMETRY)
        equal = torch.cat([torch.eye(4), -torch.eye(4)])[None]
        assert rank(lambda tokens: equal, torch.zeros(1, 8)) == pytest.approx(4.0)


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


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("geometri:similarity", "no folder of `plugins` has tasks/own_measurements/geometri.py"),
        ("geometry:similar", "tasks/own_measurements/geometry.py defines no function similar"),
    ],
)
def test_a_measurement_that_no_plugin_has_is_refused_with_its_line(
    reference: str, message: str, tmp_path: Path
) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    file = folder / "experiment.yaml"
    file.write_text(file.read_text().replace("geometry:similarity", reference))
    with loaded(folder), pytest.raises(ConfigurationError, match=message):
        load_experiment(file, "smoke")


def test_a_task_without_dev_examples_is_named_by_its_contract() -> None:
    task = DownstreamTask(
        name="empty", version=1, form="single", labels=("no", "yes"), metrics=("accuracy",), chance=None,
        build=lambda documents, train, dev: Examples((), ()),
    )  # fmt: skip
    problems = [each.problem for each in task_contracts(task, lambda: (Document("a", "text"),)) if each.problem]
    assert "build returned 0 train and 0 dev examples" in problems
