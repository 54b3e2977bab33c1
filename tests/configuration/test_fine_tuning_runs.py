"""Fine-tuning recipes: rates by layer, values of single tasks, searched settings, and which of them is selected."""

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.computing.examples import with_swapped
from runners.dag import shared_stages, trial_stages
from runners.scoring import label_scores, part_scores
from runners.stage_labels import fine_tune_labels
from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from runners.training.optimisers.adamw import adamw, layered_adamw
from runners.training.optimisers.parameter_groups import set_rate
from runners.work_queue import Failure, StageTask
from search_space.convolution import Dynamic
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning, TaskTraining
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Record, Status, TrialStatus, with_results
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import chosen_records
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples
from steeplechase.tasks.labelled.task import Example
from tests.factories import simulated_training as simulated
from tests.factories import small_experiments as small
from tests.factories.keys import KEY
from tests.factories.stage_results import result_of

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


def dev_set(labels: list[int], alike: int = 1) -> EncodedExamples:
    """Return examples of four tokens, each repeated `alike` times."""
    count = len(labels)
    rows = (np.arange(count * 4, dtype=np.int32).reshape(count, 4) // (4 * alike)) * 4 + np.arange(4, dtype=np.int32)
    nothing, no_offsets = np.full(count, -1, np.int32), np.zeros((count, 0, 2), np.int32)
    answers = np.asarray(labels, np.int32)
    return EncodedExamples(
        rows, np.zeros_like(rows), np.full(count, 4, np.int32), answers, nothing, nothing, no_offsets, (), (), 0, 0
    )


def searching(search: dict[str, Any]) -> FineTuning:
    return FineTuning.model_validate_json(json.dumps({"tasks": ["docs_pair"], "search": search}))


def choice(found: FineTuning, labels: list[int], predicted: dict[str, list[int]]) -> Record:
    """Return what is chosen where the combinations predict so."""
    task, dev = find_task("docs_pair"), dev_set(labels)
    records = []
    for run in fine_tuning_runs(found):
        if run.seed == 1:
            result = {
                "task": task.name,
                "seed": 1,
                "examples": len(labels),
                **label_scores(run, task, dev, predicted[run.label], partial(selection_half, dev)),
            }
            tuned = result_of("fine_tune", result)
            records.append(Record(0, "t", "fine_tune", run.label, KEY, Status.FINISHED, tuned, 1.0, False))
    (chosen,) = chosen_records(records, [record.label for record in records])
    return chosen


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(2, 40), st.booleans())
def test_no_answer_of_the_reported_half_reaches_the_choice(seed: int, count: int, permute: bool) -> None:
    chance = random.Random(seed)
    found = searching(SEARCH)
    labels = [chance.randrange(2) for _ in range(count)]
    predicted = {each.label: [chance.randrange(2) for _ in range(count)] for each in fine_tuning_runs(found)}
    reported = np.flatnonzero(~selection_half(dev_set(labels))).tolist()
    changed = list(labels)
    others = chance.sample([labels[place] for place in reported], len(reported))
    for place, label in zip(reported, others, strict=True):
        changed[place] = label if permute else 1 - labels[place]
    assert choice(found, changed, predicted).label == choice(found, labels, predicted).label


def test_the_best_of_the_selection_half_is_reported_by_the_other_half() -> None:
    found = searching(SEARCH)
    labels = [number % 2 for number in range(20)]
    chosen = selection_half(dev_set(labels))
    names = [each.label for each in fine_tuning_runs(found)]
    # the second is right on the choice half and wrong on the other; the third the other way round
    right = {names[0]: [0] * 20, names[3]: [0] * 20}
    right[names[1]] = [label if mine else 1 - label for label, mine in zip(labels, chosen, strict=True)]
    right[names[2]] = [1 - label if mine else label for label, mine in zip(labels, chosen, strict=True)]
    best = choice(found, labels, right)
    assert best.label == names[1]
    assert isinstance(best.result, FineTuneResult)
    assert best.result.scores["accuracy"] == 0.0
    declaration = best.result.choice
    assert declaration is not None
    assert (declaration.score, declaration.n, declaration.reported, declaration.chosen_on) == (
        100.0,
        10,
        10,
        "held_out_half",
    )


def test_with_choose_on_dev_the_selection_uses_the_reported_scores() -> None:
    found = searching({**SEARCH, "choose_on": "dev"})
    labels, chance = [number % 2 for number in range(20)], random.Random(1)
    predicted = {each.label: [chance.randrange(2) for _ in labels] for each in fine_tuning_runs(found)}
    best = choice(found, labels, predicted)
    accuracies = {
        name: 5.0 * sum(one == other for one, other in zip(each, labels, strict=True))
        for name, each in predicted.items()
    }
    assert isinstance(best.result, FineTuneResult)
    scores, declaration = best.result.scores, best.result.choice
    assert declaration is not None
    assert scores["accuracy"] == declaration.score == pytest.approx(max(accuracies.values()))
    assert (declaration.n, declaration.reported) == (20, 20)


@given(st.lists(st.integers(0, 1), min_size=4, max_size=60), st.sampled_from([1, 2, 3]))
def test_halves_are_of_the_text_alone_and_equal_texts_stay_together(labels: list[int], alike: int) -> None:
    dev = dev_set(labels, alike)
    half = selection_half(dev)
    assert (half == selection_half(dev_set([0] * len(labels), alike))).all()
    different = -(-len(labels) // alike)
    texts = [bytes(row) for row in dev.tokens]
    assert len({text for text, mine in zip(texts, half, strict=True) if mine}) == different // 2
    assert not {t for t, mine in zip(texts, half, strict=True) if mine} & {
        t for t, mine in zip(texts, half, strict=True) if not mine
    }


def test_an_arm_with_another_vocabulary_reports_on_the_same_half(tmp_path: Path) -> None:
    labels, task = [number % 2 for number in range(20)], find_task("docs_pair")
    run = next(run for run in fine_tuning_runs(searching({"epochs": [1, 2]})) if run.seed == 1)
    shared = dev_set(labels)
    for name, examples in (("shared", shared), ("own", replace(shared, tokens=shared.tokens + 1000))):
        (tmp_path / name / "dev").mkdir(parents=True)
        save_examples(examples, tmp_path / name / "dev")
    (tmp_path / "predictions.json").write_text(json.dumps([int(number < 7) for number in range(20)]))
    own, same, expected = (
        part_scores(task, tmp_path / name, tmp_path, run, halves_of=halves_of)
        for name, halves_of in (("own", None), ("own", tmp_path / "shared"), ("shared", None))
    )
    assert same == expected != own


def test_one_text_cannot_be_halved() -> None:
    with pytest.raises(DataError, match="1 different dev examples cannot be halved"):
        selection_half(dev_set([0, 1, 0], alike=3))
