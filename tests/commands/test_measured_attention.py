"""Measured attention of a trained model: masses are shares, agree with the map, and are reproducible."""

from pathlib import Path

import pytest

from steeplechase.ledger.metrics import attention_of
from steeplechase.ledger.reading import snapshot_at
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.stage_results import ALL, uniform_concentration
from tests.factories.local_models import experiment, run


def test_every_trained_arm_is_looked_at(tmp_path: Path) -> None:
    measure = {"attention_diagonal": {"within": 2, "sequences": 5}}
    found = snapshot_at(run(experiment(tmp_path, "masked_language_model", measure=measure), tmp_path / "results"))
    looked = {history.trial.arm: attention_of(history) for history in found.histories}
    assert {arm for arm, one in looked.items() if one is None} == {"wild"}  # which diverged
    for history in found.histories:
        one = looked[history.trial.arm]
        if one is None:
            continue
        assert history.status is TrialStatus.FINISHED
        assert (one.length, one.within, one.sequences) == (16, 2, 5)
        assert all(near + far == pytest.approx(1, abs=1e-5) for _, _, near, far, _, _ in one.heads)
        assert all(head[4] <= head[2] and head[5] <= head[3] for head in one.heads)
        heads = 4 if history.trial.arm == "baseline" else 2
        assert len(one.heads) == 2 * heads
        for layer, cells in enumerate(one.maps):
            near = sum(cells[q][k] for q in range(16) for k in range(16) if abs(q - k) <= 2) / 1600 / 16
            mine = [head[2] for head in one.heads if head[0] == layer]
            assert near == pytest.approx(sum(mine) / len(mine), abs=0.002)  # cells are whole hundredths
        even = uniform_concentration(16, 2)
        assert even is not None
        assert one.concentration(ALL) == pytest.approx(even, rel=0.5)  # hardly trained, it hardly looks anywhere
