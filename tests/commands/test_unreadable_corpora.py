"""A corpus that cannot be read is told with the line of the file that names it."""

from pathlib import Path

import pytest

from steeplechase.configuration.stage_label import StageLabel
from tests.factories.command_calls import Call

ROWS = ('{"text": "' + "some words of a text " * 20 + '"}\n') * 100
EXPERIMENT = """\
experiment: texts
question: Which text?
baseline:
  architecture: {{ depth: 1, width: 32, embedding_width: 32, heads: 2, feed_forward_width: 64, vocabulary_size: 500,
                  positions: 64 }}
  objective: masked_language_model
  recipe: {{ sequence_length: 32, batch_sequences: 8, schedule: {{ kind: linear, warmup_tokens: 256 }} }}
design: {{ kind: one_factor, vary: {{ data: [other] }} }}
corpus: {{ kind: {corpus} }}
data:
  other:
    corpus: {{ kind: {other} }}
pretraining: {{ tokens: 256, seeds: [1], held_out_sequences: 8, evaluations: 1 }}
"""
GOOD = "planted_pairs"


def test_the_label_of_every_corpus_leads_to_its_setting() -> None:
    settings = {
        "corpus": "corpus",
        "corpus for tasks 1": "fine_tuning.corpus",
        "corpus of other": "data.other.corpus",
    }
    assert {label: StageLabel.parse(label).corpus_setting for label in settings} == settings
    assert StageLabel.parse("tokens of other").corpus_setting is None


@pytest.mark.parametrize(
    ("setting", "line", "arm"), [("corpus", 9, "baseline"), ("data.other.corpus", 12, "data=other")]
)
def test_a_row_that_is_no_json_is_told_with_the_setting_of_its_corpus(
    call: Call, tmp_path: Path, setting: str, line: int, arm: str
) -> None:
    (tmp_path / "rows.jsonl").write_text(ROWS + '{"text": \n', encoding="utf-8")
    bad = f"text_files, path: {tmp_path / 'rows.jsonl'}"
    kinds = {"corpus": GOOD, "other": bad} if setting != "corpus" else {"corpus": bad, "other": GOOD}
    file = tmp_path / "texts.yaml"
    file.write_text(EXPERIMENT.format(**kinds), encoding="utf-8")
    found = call("run", file, "--out", tmp_path / "out", "--workers", "1", "--arms", arm)
    assert found.code == 4
    assert found.err.splitlines()[-1].startswith(f"{file}:{line}: {setting}: ")
    assert "rows.jsonl:101: not JSON" in found.err.splitlines()[-1]
