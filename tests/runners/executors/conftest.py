"""A run of seconds shared by the tests of executors: two arms on random text."""

from pathlib import Path

import pytest

from tests.factories.command_line import Run
from tests.factories.random_text import write_random_text
from tests.factories.shared_runs import shared_run

EXPERIMENT = """
experiment: small
question: Is a deeper encoder better?
baseline:
  architecture: {{ depth: 1, width: 16, embedding_width: 16, heads: 2, feed_forward_width: 32, vocabulary_size: 300,
                  positions: 32 }}
  objective: {{ kind: masked_language_model }}
  recipe: {{ sequence_length: 32, batch_sequences: 8, peak_learning_rate: 3e-3, dropout: 0.0,
            schedule: {{ kind: linear, warmup_tokens: 2000 }} }}
design: {{ kind: list, arms: {{ deep: {{ depth: 4 }} }} }}
corpus: {{ kind: text_files, path: {text} }}
pretraining: {{ tokens: 12000, seeds: [1, 2], held_out_sequences: 16, evaluations: 1 }}
"""


@pytest.fixture(scope="session")
def small_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an experiment file of four trials, each of about half a second: a kill meets one at work."""
    folder = tmp_path_factory.mktemp("small")
    file = folder / "small.yaml"
    file.write_text(EXPERIMENT.format(text=write_random_text(folder / "text", 400)))
    return file


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, small_experiment: Path) -> Run:
    """Return that experiment, run to its end by one local worker."""
    return shared_run(tmp_path_factory, "small", str(small_experiment), workers=1)
