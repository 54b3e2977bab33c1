"""Searched fine-tuning settings: one half of dev selects, the other one is reported on."""

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.scoring import label_scores, part_scores
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.stage_results import FineTuneResult
from steeplechase.ledger.trial_history import chosen_records
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples
from tests.factories.keys import KEY
from tests.factories.stage_results import result_of

SEARCH = {"peak_learning_rate": [1e-4, 3e-4], "epochs": [1, 3]}


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
