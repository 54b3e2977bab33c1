"""A search decides the same on local processes and on Ray: hurdle, audit, finalists, ablation, a plugin's option."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from steeplechase.experiments import run
from steeplechase.ledger.database import Ledger
from tests.factories.command_line import UNANSWERED, lend
from tests.factories.plugins import copy_of_example, no_plugins_left
from tests.factories.random_text import write_random_text

pytestmark = [pytest.mark.engines, pytest.mark.slow]

EXPERIMENT = """
experiment: searched
question: Which joint choice learns fastest?
baseline:
  architecture: {{ depth: 2, width: 16, embedding_width: 16, heads: 4, feed_forward_width: 32, vocabulary_size: 300,
                  positions: 32 }}
  objective: {{ kind: masked_language_model }}
  recipe: {{ sequence_length: 32, batch_sequences: 8, peak_learning_rate: 3e-3, dropout: 0.0,
            schedule: {{ kind: linear, warmup_tokens: 500 }} }}
design: {{ kind: search, max_candidates: {candidates},
          space: {{ heads: [2, 4], bottleneck_ratio: [1, 2], convolution: [none, gated_dilated],
                   convolution.kernel_size: [3, 5], feed_forward_groups: [1, 2] }},
          {design} }}
plugins: [{plugin}]
corpus: {{ kind: text_files, path: {text} }}
pretraining: {{ tokens: 5120, seeds: [1], held_out_sequences: 16, evaluations: 1, {hurdle} }}
"""
OF_COHORTS = {
    "candidates": 6,
    "design": "sampler: tpe, cohort: 2, finalists: { count: 1, seeds: 2 }, ablate_winner: leave_one_out",
    "hurdle": "hurdle: { kind: top_fraction, rungs: [1280, 2560] }, audit: { share: 0.5, seed: 0 }",
}


def searched(experiment: Path, out: Path, **how: Any) -> tuple[list[tuple[object, ...]], object, str]:
    """Run a search; return its decisions, its audit and its arms."""
    with no_plugins_left():
        run(experiment, out=out, **how)
    with closing(Ledger.at(out)) as ledger:
        told = sorted(
            (one.trial, one.level, one.cleared, str(one.value), str(one.threshold), one.cohort)
            for one in ledger.decisions()
        )
        return told, ledger.fact("audit"), str(ledger.arms())


def experiment_of(folder: Path, **parts: object) -> Path:
    file = folder / "searched.yaml"
    text, plugin = write_random_text(folder / "text", 400), copy_of_example(folder / "plugin")
    file.write_text(EXPERIMENT.format(text=text, plugin=plugin, **parts))
    return file


def test_both_executors_give_the_same_decisions_and_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", UNANSWERED)
    experiment = experiment_of(tmp_path, **OF_COHORTS)
    decided, audited, arms = searched(experiment, tmp_path / "local", workers=1)
    lend(tmp_path / "local", tmp_path / "ray", ("corpus", "tokens", "evaluation_set"))
    there = searched(experiment, tmp_path / "ray", workers=2, engine="ray")
    assert decided
    assert audited
    assert "gated_dilated" in arms
    assert there == (decided, audited, arms)
    for name in ("report.csv", "report.json", "report.md", "report.tex"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes(), name
