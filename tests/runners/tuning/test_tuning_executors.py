"""A tuned table has the same choices and report with both executors."""

from contextlib import closing
from pathlib import Path

import pytest

from steeplechase.ledger.database import Ledger
from steeplechase.ledger.tuning_plan import CHOICES
from tests.factories.command_line import lend, steeplechase
from tests.factories.random_text import write_random_text

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SHARED = ("corpus", "tokens", "evaluation_set")

EXPERIMENT = """
experiment: tuned
question: Which rate suits each arm?
baseline:
  architecture: {{ depth: 2, width: 16, embedding_width: 16, heads: 2, feed_forward_width: 32, vocabulary_size: 300,
                  positions: 32 }}
  objective: {{ kind: masked_language_model }}
  recipe: {{ sequence_length: 32, batch_sequences: 8, peak_learning_rate: 3e-3, dropout: 0.0,
            schedule: {{ kind: linear, warmup_tokens: 500 }} }}
design: {{ kind: list, arms: {{ dynamic: {{ bottleneck_ratio: 2, convolution: dynamic }} }} }}
tune: {{ vary: {{ recipe.peak_learning_rate: [1e-3, 3e-3, 1e-2] }}, trials: 3, seeds: [101], tokens: 2560 }}
corpus: {{ kind: text_files, path: {text} }}
pretraining: {{ tokens: 5120, seeds: [1, 2], held_out_sequences: 16, evaluations: 1 }}
"""


def chosen(folder: Path) -> object:
    with closing(Ledger.at(folder)) as ledger:
        return ledger.fact(CHOICES)


def test_both_executors_give_the_same_choices_and_report(tmp_path: Path) -> None:
    """A driver that is killed in the middle of tuning is in test_tuning_phase.py, after every stage."""
    file, local, ray = tmp_path / "tuned.yaml", tmp_path / "local", tmp_path / "ray"
    file.write_text(EXPERIMENT.format(text=write_random_text(tmp_path / "text", 400)))
    alone = steeplechase("run", file, "--out", local, "--workers", "1")
    assert alone.returncode == 0, alone.stderr
    lend(local, ray, SHARED)
    together = steeplechase("run", file, "--out", ray, "--workers", "2", "--engine", "ray")
    assert together.returncode == 0, together.stderr
    assert chosen(local) is not None
    assert chosen(ray) == chosen(local)
    assert (ray / "report.json").read_text() == (local / "report.json").read_text()
