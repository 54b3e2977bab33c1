"""Fine-tuning recipes: rates by layer, values of single tasks, searched settings and their stages."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from runners.computing.examples import with_swapped
from runners.dag import shared_stages, trial_stages
from runners.stage_labels import fine_tune_labels
from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from runners.training.optimisers.adamw import adamw, layered_adamw
from runners.training.optimisers.parameter_groups import set_rate
from runners.work_queue import Failure, StageTask
from search_space.convolution import Dynamic
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import TaskTraining
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status, TrialStatus, with_results
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import chosen_records
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.tasks.labelled.task import Example
from tests.factories import simulated_training as simulated
from tests.factories import small_experiments as small

RATES = {
    "encoder.embeddings.tokens.weight": 0.4096,
    "encoder.embeddings.norm.bias": 0.4096,
    "encoder.projection.weight": 0.4096,
    "encoder.blocks.0.attention_norm.weight": 0.512,
    "encoder.blocks.1.feed_forward_norm.bias": 0.64,
    "head.labels.weight": 1.0,
    "head.labels.bias": 1.0,
}
"""Shares of the peak rate at decay 0.8 and two blocks, by hand: 0.8**4, 0.8**3, 0.8**2, 1."""

SEARCH = {"peak_learning_rate": [1e-4, 3e-4], "epochs": [1, 3]}
PAIR: dict[str, Any] = {"tasks": ["docs_pair"], "seeds": [1, 2], "sequence_length": 16}


def test_each_layer_learns_at_its_share_of_the_rate() -> None:
    model = build_fine_tuned(small.architecture(Dynamic()), "pair", 2, "first", 0.0)
    optimiser = layered_adamw(model, 2, 0.01, 0.8)
    set_rate(optimiser, 3e-4)
    rates = {id(value): group["lr"] for group in optimiser.param_groups for value in group["params"]}
    decays = {id(value): group["weight_decay"] for group in optimiser.param_groups for value in group["params"]}
    named = dict(model.named_parameters())
    assert rates.keys() == {id(value) for value in named.values()}
    for name, share in RATES.items():
        assert rates[id(named[name])] == pytest.approx(3e-4 * share, rel=1e-12), name
    plain = adamw(model, 0.01)
    for group in plain.param_groups:
        assert all(decays[id(value)] == group["weight_decay"] for value in group["params"])


def experiment(folder: Path, **tuning: Any) -> Experiment:
    return simulated.small_table(folder, fine_tuning={**PAIR, **tuning})


def tuned(found: Experiment) -> dict[str, FineTuneStage]:
    stages = trial_stages(found, shared_stages(found), found.baseline, 1)
    declaration = {label: stage.declaration for label, stage in stages.items()}
    return {label: each for label, each in declaration.items() if isinstance(each, FineTuneStage)}


def keys(found: Experiment) -> dict[str, str]:
    stages = trial_stages(found, shared_stages(found), found.baseline, 1)
    return {label: stage.key for label, stage in stages.items()}


def another(field: Any) -> Any:
    """Return a value that a field may have and that is not its default."""
    if get_origin(field.annotation) is Literal:
        return next(value for value in get_args(field.annotation) if value != field.default)
    if field.default_factory is not None:
        return field.annotation.model_validate(field.examples[0]).model_dump(mode="json")
    if not field.default:  # its half is its default
        return field.examples[0]
    return field.default + 1 if field.annotation is int else field.default / 2


@pytest.mark.parametrize("name", [*TaskTraining.model_fields])
def test_every_training_setting_is_in_the_stage_in_by_task_and_in_the_key(name: str, tmp_path: Path) -> None:
    value = another(TaskTraining.model_fields[name])
    plain, label = experiment(tmp_path), "docs_pair#1"
    for changed in (
        experiment(tmp_path, **{name: value}),
        experiment(tmp_path, by_task={"docs_pair": {name: value}}),
    ):
        declaration = {**tuned(plain)[label].model_dump(), name: value}
        assert tuned(changed)[label].model_dump() == declaration
        assert keys(changed)[label] != keys(plain)[label]


def test_a_field_at_its_default_changes_no_key(tmp_path: Path) -> None:
    said = experiment(tmp_path, layer_rate_decay=1.0, swap_pairs=True, by_task={"docs_pair": {"epochs": 3}})
    assert keys(said) == keys(experiment(tmp_path))  # docs_pair may not be swapped, so nothing is
    decayed = keys(experiment(tmp_path, layer_rate_decay=0.8))
    assert {label for label, key in keys(said).items() if decayed[label] != key} == {"docs_pair#1", "docs_pair#2"}


def test_every_combination_is_a_stage_with_the_key_of_equal_settings(tmp_path: Path) -> None:
    searching = experiment(tmp_path, search=SEARCH)
    labels = fine_tune_labels(searching)
    assert len(set(labels)) == 2 * 4
    assert labels[0] == "docs_pair#1 peak_learning_rate=0.0001 epochs=1"
    plain = keys(experiment(tmp_path, peak_learning_rate=1e-4, epochs=3))
    assert keys(searching)["docs_pair#2 peak_learning_rate=0.0001 epochs=3"] == plain["docs_pair#2"]


def test_a_tasks_own_settings_are_not_searched(tmp_path: Path) -> None:
    found = experiment(tmp_path, search=SEARCH, by_task={"docs_pair": {"epochs": 10}})
    assert {each.epochs for each in tuned(found).values()} == {10}
    assert len(fine_tune_labels(found)) == 2 * 2


def test_settings_by_task_can_be_removed_and_may_limit_examples(tmp_path: Path) -> None:
    assert keys(experiment(tmp_path, by_task=None)) == keys(experiment(tmp_path))
    few = experiment(tmp_path, by_task={"docs_pair": {"train_examples": 7, "dev_examples": 5}})
    declaration = shared_stages(few).examples["docs_pair"].declaration
    assert isinstance(declaration, ExamplesStage)
    assert (declaration.train_examples, declaration.dev_examples) == (7, 5)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"search": {}}, "no values to search; give at least one list of peak_learning_rate, weight_decay, epochs"),
    ({"search": {"epochs": [3, 3]}}, "3 is listed twice"),
    ({"search": {"weight_decay": [-0.1]}}, "-0.1 is below 0"),
    ({"sequence_length": 7}, "7 is too short; allowed: 8 and longer"),
    ({"by_task": {"docs_pair": {"sequence_length": 2}}}, "2 is too short; allowed: 8 and longer"),
    ({"by_task": {"docs_answer": {"epochs": 1}}}, "is not among the tasks; allowed: docs_pair"),
    ({"by_task": {"docs_pair": {"swap_pairs": True}}}, "the pairs of docs_pair are ordered and cannot be swapped"),
    ({"by_task": {"docs_pair": {"sequence_length": 64}}}, "64 is longer than the 16 positions of the architecture"),
]
FEW_POSITIONS = [
    {"kind": "list", "arms": {"short": {"positions": 12}}},
    {"kind": "search", "space": {"positions": (12, 16)}, "max_candidates": 2},
]


@pytest.mark.parametrize("design", FEW_POSITIONS)
def test_positions_of_arms_and_candidates_hold_the_sequences_of_fine_tuning(
    tmp_path: Path, design: dict[str, Any]
) -> None:
    def messages(**tuning: Any) -> list[str]:
        changed = experiment(tmp_path, **tuning).model_dump() | {"design": design}
        changed["baseline"]["recipe"]["sequence_length"] = 8
        return [
            each.message for each in violations_of(Experiment.model_validate(changed)) if "longer" in each.message
        ]

    (message,) = messages(sequence_length=16)
    assert message.endswith(": 16 is longer than the 12 positions of the architecture")
    assert messages(sequence_length=16, by_task={"docs_pair": {"sequence_length": 12}}) == []


@pytest.mark.parametrize(("tuning", "message"), WRONG)
def test_impossible_settings_are_reported(tmp_path: Path, tuning: dict[str, Any], message: str) -> None:
    assert message in [violation.message for violation in violations_of(experiment(tmp_path, **tuning))]


def test_swapped_pairs_double_the_training_set() -> None:
    pairs = tuple(Example(f"a{number}", f"b{number}", label=number % 2) for number in range(7))
    swapped = with_swapped(pairs)
    assert len(swapped) == 14
    assert swapped[:7] == pairs
    assert [(each.second, each.first, each.label) for each in swapped[7:]] == [
        (each.first, each.second, each.label) for each in pairs
    ]


def diverging(work: StageTask) -> Outcome | Failure:
    """Let every fine-tuning at the higher rate diverge; of the arm `narrow`, the lower one too."""
    declaration = work.stage.declaration
    if isinstance(declaration, FineTuneStage) and (
        declaration.peak_learning_rate > 1e-4 or declaration.architecture.bottleneck_ratio == 2
    ):
        return Outcome(
            Status.DIVERGED, {"task": declaration.task, "seed": declaration.seed, "step": 1, "loss": "nan"}, 1.0
        )
    return simulated.curve(work)


def test_a_combination_that_diverges_loses_and_a_trial_diverges_where_all_do(tmp_path: Path) -> None:
    track = simulated.Track(experiment(tmp_path, search=SEARCH), tmp_path, diverging)
    histories = {history.trial.arm: history for history in track.run().histories}
    labels = fine_tune_labels(track.experiment)
    assert histories["narrow"].status is TrialStatus.DIVERGED
    assert chosen_records(histories["narrow"].records, labels) == ()
    assert histories["baseline"].status is not TrialStatus.DIVERGED
    chosen = chosen_records(histories["baseline"].records, labels)
    assert [result.seed for _, result in with_results(chosen, FineTuneResult)] == [1, 2]
    assert all("peak_learning_rate=0.0001" in record.label for record in chosen)
    assert not chosen_records(histories["baseline"].records[:-1], labels)[1:]  # before all have ended, none counts
