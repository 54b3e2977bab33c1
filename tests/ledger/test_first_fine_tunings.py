"""`submission` and `generate` read the experiment's first seed at its selected settings, whichever ended first."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.opening import RunRequest, open_ledger
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.checkpoints import tuned_trials
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.selected_settings import first_fine_tunings
from tests.factories import simulated_training as simulated
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.keys import KEY
from tests.factories.plans import kept
from tests.factories.stage_results import plausible, result_of

SEARCHED = ("rte#10 epochs=1", "rte#10 epochs=3", "rte#2 epochs=1", "rte#2 epochs=3")
SCORES = {"rte#10 epochs=1": 60.0, "rte#10 epochs=3": 70.0, "rte#2 epochs=1": 90.0, "rte#2 epochs=3": 80.0}


def tuned(label: str, sequence: int, **choice: Any) -> Record:
    task, _, rest = label.partition("#")
    found = {"task": task, "seed": int(rest.split()[0]), "examples": 4, "scores": {"accuracy": 50.0}, **choice}
    result = result_of("fine_tune", found)
    return Record(sequence, "baseline/1", "fine_tune", label, KEY, Status.FINISHED, result, 1.0, False)


@pytest.mark.parametrize("chance", range(3))
def test_the_first_seed_is_the_experiments_in_any_order_of_ends(chance: int) -> None:
    labels = ("rte#10", "rte#2", "cola#10", "cola#2")
    ended = random.Random(chance).sample(labels, len(labels))
    records = [tuned(label, number) for number, label in enumerate(ended, 1)]
    assert {task: record.label for task, record in first_fine_tunings(records, labels).items()} == {
        "rte": "rte#10",
        "cola": "cola#10",
    }


@pytest.mark.parametrize("chance", range(3))
def test_of_a_search_the_selected_settings_are_taken(chance: int) -> None:
    ended = random.Random(chance).sample(SEARCHED, len(SEARCHED))
    half = {"n": 2, "reported": 2, "chosen_on": None, "searched": {"epochs": [1, 3]}}
    records = [tuned(label, number, choice={"score": SCORES[label], **half}) for number, label in enumerate(ended, 1)]
    assert first_fine_tunings(records, SEARCHED)["rte"].label == "rte#10 epochs=3"


def test_the_model_that_generates_is_of_the_first_seed_also_if_it_ended_last(tmp_path: Path) -> None:
    tuning = {"tasks": ["docs_pair"], "seeds": [10, 2], "sequence_length": 16}
    experiment = simulated.small_table(tmp_path, fine_tuning=tuning)
    paths = ResultPaths.of(tmp_path / "results")
    store = ArtifactStore(paths.stages)
    with open_ledger(RunRequest(experiment, "whole", paths)) as ledger:
        journal = declare_first_cohort(experiment, store, ledger)
        stages = journal.state.stages_of("baseline/1")
        vocabulary = journal.state.shared_stages["tokens"]
        kept(store, vocabulary, b"")
        shared = Record(0, None, "tokens", "tokens", vocabulary.key, Status.FINISHED, plausible("tokens"), 1.0, False)
        ledger.add_record(shared)
        for label in ("docs_pair#2", "docs_pair#10"):
            kept(store, stages[label], label.encode())
            ledger.add_record(replace(tuned(label, 0, signatures={"bleu": "v"}), key=stages[label].key))
    (found,) = tuned_trials(tmp_path / "results")
    assert (found.stage / "content").read_text() == "docs_pair#10"
