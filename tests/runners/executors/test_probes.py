"""A planted probe as an experiment: a model learns what is planted with the mechanism, and not without it."""

from pathlib import Path

import pytest

from steeplechase.commands.arguments import choose
from steeplechase.ledger.metrics import final_loss
from steeplechase.ledger.snapshot import snapshot_at
from tests.factories.local_models import run
from tests.factories.paths import EXPERIMENTS

pytestmark = pytest.mark.slow
FEWER = (
    "pretraining.seeds=[1]",
    "pretraining.tokens=115200",
    "pretraining.evaluations=1",
    "corpus.document_count=3000",
)


def test_what_is_planted_in_the_segment_before_is_learned_with_a_memory_alone(tmp_path: Path) -> None:
    """One seed of three, at a third of the budget."""
    wanted, _, _ = choose(EXPERIMENTS / "probes" / "segment_memory.yaml", "laptop", FEWER)
    found = snapshot_at(run(wanted, tmp_path))
    losses = {history.trial.arm: final_loss(history, found.labels) for history in found.histories}
    assert losses["baseline"] is not None
    assert losses["no_memory"] is not None
    assert losses["baseline"] < losses["no_memory"] - 2
