"""A file of a stranger that names code: refused by each command, with nothing run and nothing written."""

import gzip
import json
import lzma
from pathlib import Path

import pytest

from tests.factories.command_calls import ROOT, Call

EXPERIMENT = """
experiment: hostile
question: Does it run?
baseline:
  architecture: { kind: module, factory: "FACTORY", arguments: { command: "touch CANARY" }, width: 32 }
  objective: masked_language_model
  recipe: { sequence_length: 32, batch_sequences: 8, schedule: { kind: linear, warmup_tokens: 1000 } }
design: { kind: one_factor, vary: { recipe.peak_learning_rate: [1e-3] } }
pretraining: { tokens: 8000, seeds: [1], held_out_sequences: 16, evaluations: 2 }
"""


@pytest.mark.parametrize("command", ["plan", "describe", "run"])
def test_commands_refuse_a_file_that_names_a_shell(call: Call, command: str, tmp_path: Path) -> None:
    file, canary = tmp_path / "hostile.yaml", tmp_path / "canary"
    text = EXPERIMENT.replace("CANARY", str(canary)).replace("FACTORY", "os:system")
    file.write_text(text, encoding="utf-8")
    out = ("--out", tmp_path / "results") if command == "run" else ()
    refused = call(command, file, *out)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        f"{file}:5: baseline.architecture.factory: os:system: os is of the standard library; "
        "a factory is of a plugin that the file lists\n"
    )
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("reader", ["curves", "predictions"])
def test_the_files_that_make_faults_spoils_are_read_as_they_are(call: Call, reader: str, tmp_path: Path) -> None:
    """Of a file that is refused already, no command would reach what is spoilt."""
    values = json.loads((ROOT / "tools" / "faults" / "values.json").read_text())
    for name, lines in values["files"][reader].items():
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
        for ending, packed in (("", content), (".gz", gzip.compress(content)), (".xz", lzma.compress(content))):
            (tmp_path / f"{name}{ending}").write_bytes(packed)
    for template in values["commands"][reader][1:]:
        answer = call(*template.replace("CASE", str(tmp_path)).split())
        assert answer.code == 0, (template, answer.err)
