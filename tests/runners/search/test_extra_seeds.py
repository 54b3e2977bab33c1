"""Seeds until decided on the score: the score is the report's, over tasks that exceed their references."""

from dataclasses import replace
from pathlib import Path

import pytest

from configuration.arm import BASELINE
from ledger.database import Ledger
from ledger.records import TrialRow
from runners.search.extra_seeds import extra_seeds
from tests.factories.ledger_rows import arm
from tests.factories.reports import Trial, examples_record
from tests.factories.simulated_training import experiment

TOKENS, SEEDS = 2560, (1, 2, 3)
RULE = {"until_decided": {"start": 3, "max": 6, "step": 3, "margin": {"score": 0.5}}}
ALIKE = {BASELINE: (80.0, 81.0, 79.0), "arm-1": (80.5, 79.5, 81.0)}
FAR_APART = {BASELINE: (60.0, 60.1, 59.9), "arm-1": (99.0, 99.1, 98.9)}
AROUND_CHANCE = {BASELINE: (30.0, 30.1, 29.9), "arm-1": (70.0, 70.1, 69.9)}  # 50 on average, as its reference


@pytest.mark.parametrize(
    ("second", "added"), [(FAR_APART, {}), (AROUND_CHANCE, {BASELINE: (4, 5, 6), "arm-1": (4, 5, 6)})]
)
def test_a_task_below_its_references_decides_no_arm(
    tmp_path: Path, second: dict[str, tuple[float, ...]], added: dict[str, tuple[int, ...]]
) -> None:
    declared = experiment(tmp_path, pretraining={"tokens": TOKENS, "seeds": RULE})
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for task in ("docs_pair", "docs_acceptability"):
        ledger.add_record(examples_record(task))
    for position, name in enumerate(ALIKE):
        ledger.add_arm(replace(arm(position), name=name))
        for place, seed in enumerate(SEEDS):
            trial = Trial(name, seed).pretrained(5.0, TOKENS)
            for tuning_seed in (1, 2):
                trial.tuned("docs_pair", tuning_seed, accuracy=ALIKE[name][place])
                trial.tuned("docs_acceptability", tuning_seed, matthews=second[name][place])
            ledger.add_trial(TrialRow(trial.name, name, seed))
            for record in trial.records:
                ledger.add_record(record)
    assert extra_seeds(declared, ledger) == added
