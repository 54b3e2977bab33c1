"""A small ledger with rows of every kind."""

from pathlib import Path

from search_space.candidate import Candidate
from search_space.recipe import Recipe
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import ArmRow, Decision, Record, Status, TrialRow
from tests.factories.keys import KEY
from tests.factories.stage_results import result_of


def arm(position: int) -> ArmRow:
    candidate = Candidate(recipe=Recipe(dropout=0.2))
    costs = {"parameters": 10, "forward_flops": 20, "train_flops": 2**60}
    return ArmRow(f"arm-{position}", candidate, {"heads": position}, position=position, cohort=0, **costs)


def filled(path: Path) -> Ledger:
    """Return a ledger with a few rows of every kind, a stage that failed and was done again among them."""
    ledger = Ledger(path)
    ledger.set_fact("labels", ["pretrain@1", "pretrain@2"])
    for position in range(2):
        ledger.add_arm(arm(position))
        ledger.add_trial(TrialRow(f"arm-{position}/1", f"arm-{position}", 1))
    for number, status in enumerate((Status.FAILED, Status.FINISHED, Status.DIVERGED, Status.FINISHED)):
        loss, of_end = 5.5 + number, {Status.FAILED: {"error": "no"}, Status.DIVERGED: {"tokens": 64, "loss": "nan"}}
        result = result_of("pretrain", of_end.get(status, {"tokens": 64, "held_out_loss": loss}), status)
        label = f"pretrain@{number // 2}"
        ledger.add_record(Record(0, "arm-1/1", "pretrain", label, KEY, status, result, 0.25, False))
    for level in range(2):
        ledger.add_decision(Decision(0, "arm-1/1", level, not level, 5.5, 6.5, 1))
    return ledger


def everything(ledger: Ledger) -> list[object]:
    return [ledger.fact("labels"), ledger.arms(), ledger.trials(), ledger.records(), ledger.decisions()]
