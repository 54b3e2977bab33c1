"""What the tests of plans share: an experiment of few lines, its plan as JSON, and a stage that is there already."""

import json
from pathlib import Path
from typing import Any

from runners.stages.stage import Stage
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.records import Status
from tests.factories.command_calls import Call

HEAD = """
experiment: drawn
question: What?
baseline:
  architecture: { depth: 2, width: 64, embedding_width: 64, heads: 4, feed_forward_width: 256, vocabulary_size: 4000,
                  positions: 128 }
  objective: { kind: masked_language_model }
  recipe: { sequence_length: 64, batch_sequences: 32 }
pretraining: { tokens: 1000000, seeds: [1, 2] }
"""


def planned(call: Call, *arguments: str | Path) -> Any:
    answer = call("plan", *arguments, "--json")
    assert answer.code in (0, 4), answer.err  # 4: data are missing, and the plan says so
    return json.loads(answer.out)


def written(folder: Path, text: str) -> Path:
    file = folder / "drawn.yaml"
    file.write_text(HEAD + text)
    return file


def kept(store: ArtifactStore, stage: Stage, content: bytes, warm_up_seconds: float | None = None) -> None:
    with store.computing(stage.key) as work:
        (work / "content").write_bytes(content)
        store.publish(stage.kind, stage.key, work, Outcome(Status.FINISHED, {}, 1.0, warm_up_seconds))
