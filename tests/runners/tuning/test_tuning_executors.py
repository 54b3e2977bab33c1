"""A tuned table has the same choices and report with both executors and after a kill of its driver."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from ledger.database import Ledger
from ledger.tuning_plan import CHOICES
from tests.factories.command_line import end_by_themselves, kill, lend, start, steeplechase

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SHARED = ("corpus", "tokens", "evaluation_set")

EXPERIMENT = """
experiment: tuned
question: Which rate suits each arm?
baseline:
  architecture: { depth: 2, width: 32, embedding_width: 32, heads: 2, feed_forward_width: 64, vocabulary_size: 1000,
                  positions: 64 }
  objective: { kind: masked_language_model }
  recipe: { sequence_length: 32, batch_sequences: 16, peak_learning_rate: 3e-3, dropout: 0.0,
            schedule: { kind: linear, warmup_tokens: 2000 } }
design: { kind: list, arms: { dynamic: { bottleneck_ratio: 2, convolution: dynamic } } }
tune: { vary: { recipe.peak_learning_rate: [1e-3, 3e-3, 1e-2] }, trials: 3, seeds: [101], tokens: 5000 }
corpus: { kind: documentation, maximum_megabytes: 0.5 }
pretraining: { tokens: 10000, seeds: [1, 2], held_out_sequences: 64, evaluations: 2 }
"""


def chosen(folder: Path) -> object:
    with closing(Ledger.at(folder)) as ledger:
        return ledger.fact(CHOICES)


def test_both_executors_and_a_killed_driver_give_the_same_choices_and_report(tmp_path: Path) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text(EXPERIMENT)
    folders = {name: tmp_path / name for name in ("local", "ray", "killed")}
    local = steeplechase("run", file, "--out", folders["local"], "--workers", "1")
    assert local.returncode == 0, local.stderr
    for name in ("ray", "killed"):
        lend(folders["local"], folders[name], SHARED)
    driver = start("run", file, "--out", folders["killed"], "--workers", "2")
    until = time.monotonic() + 120
    while not list((folders["killed"] / "stages").glob("pretrain/*")) and time.monotonic() < until:
        time.sleep(0.05)
    assert end_by_themselves(kill(driver))  # in the middle of tuning
    again = steeplechase("run", file, "--out", folders["killed"], "--workers", "2")
    assert again.returncode == 0, again.stderr
    ray = steeplechase("run", file, "--out", folders["ray"], "--workers", "2", "--engine", "ray")
    assert ray.returncode == 0, ray.stderr
    assert chosen(folders["local"]) is not None
    for name in ("ray", "killed"):
        assert chosen(folders[name]) == chosen(folders["local"]), name
        assert (folders[name] / "report.json").read_text() == (folders["local"] / "report.json").read_text(), name
