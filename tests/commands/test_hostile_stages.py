"""Whatever a stage's file holds under a sound checksum, what reads it refuses it in one line."""

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from steeplechase import load
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.artifacts import MANIFEST, StageManifest
from tests.factories.command_calls import Call
from tests.factories.local_models import experiment, run

TASK, TRIAL = "words", "baseline/1"
TUNING = {"tasks": [TASK], "seeds": [1], "epochs": 1, "sequence_length": 16, "batch_examples": 8}
DEEP = 100_000


def tensors(header: object, content: bytes = b"", claimed: int | None = None) -> bytes:
    """Return a file of safetensors; `claimed` is the length that it says its header has."""
    text = json.dumps(header).encode()
    return (len(text) if claimed is None else claimed).to_bytes(8, "little") + text + content


HUGE = {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 2**62]}
WEIGHTS = {
    "a header beyond the file": tensors({}, claimed=2**63),
    "no header": b"",
    "no tensor": tensors({}),
    "a tensor beyond memory": tensors({"x": HUGE}),
    "another type": tensors({"x": {"dtype": "X9", "shape": [1], "data_offsets": [0, 1]}}, b"0"),
    "deep": b"\xff\xff\x00\x00\x00\x00\x00\x00" + b'{"a":' * 13107,
    "pickle": b"cposix\nsystem\n(S'true'\ntR.",
}
JSON = {
    "list": b"[]", "null": b"null", "number": b"7", "text": b'"x"', "object": b"{}", "none": b"",
    "not UTF-8": b"\xff",
    "deep list": b"[" * DEEP, "deep object": b'{"a":' * DEEP, "long number": b"[" + b"9" * 5000 + b"]",
    "not finite": b"[NaN, 1e999]", "half a pair": b'["\\ud800"]', "names twice": b'{"kind": 1, "kind": []}',
    "lists": b"[[], [[]]]", "words": b'["x", "y"]', "beyond": b"[99999999999999999999, -1]",
}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    rows = folder / "rows.csv"
    rows.write_text("text,label\n" + "the kernel slides,1\nthe padding slides,0\n" * 8)
    table = {"kind": "table", "train": str(rows), "dev": str(rows), "columns": {"text": "text", "label": "label"}}
    parts = {
        "design": {"kind": "list", "arms": {"narrow": {"bottleneck_ratio": 2}}},
        "fine_tuning": {**TUNING, "own_tasks": {TASK: table}},
    }
    return run(experiment(folder, "masked_language_model", **parts), folder / "results")


@pytest.fixture(scope="module")
def copied(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bytes], Path]:
    """Return a function that copies the results with other content of a file of every stage of a kind, resealed."""

    def with_content(name: str, content: bytes) -> Path:
        folder = tmp_path_factory.mktemp("hostile") / "results"
        shutil.copytree(results, folder)
        for file in sorted((folder / "stages").glob(name)):
            file.write_bytes(content)
            stage = file.parents[len(file.parts) - len((folder / "stages").parts) - 3]
            manifest = StageManifest.model_validate_json((stage / MANIFEST).read_bytes())
            hashes = {each: sha256((stage / each).read_bytes()).hexdigest() for each in manifest.files}
            sealed = manifest.model_copy(update={"files": hashes}).sealed()
            (stage / MANIFEST).write_text(sealed.model_dump_json())
        return folder

    return with_content


@pytest.fixture
def refused(call: Call, copied: Callable[[str, bytes], Path], tmp_path: Path) -> Callable[[str, bytes], None]:
    """Return a function that exports a trial of such a copy, and fails unless that is refused in a line."""

    def check(name: str, content: bytes) -> None:
        answer = call("export", copied(name, content), tmp_path / "out", "--trial", TRIAL)
        assert (answer.code, answer.out, answer.err.count("\n")) == (7, "", 1), answer
        assert not (tmp_path / "out").exists()

    return check


@pytest.mark.parametrize("how", WEIGHTS)
def test_weights_that_are_none_are_refused(refused: Callable[[str, bytes], None], how: str) -> None:
    refused("pretrain/*/checkpoint/weights.safetensors", WEIGHTS[how])


@pytest.mark.parametrize("how", JSON)
def test_settings_of_a_tokenizer_that_are_none_are_refused(refused: Callable[[str, bytes], None], how: str) -> None:
    refused("tokens/*/tokenizer.json", JSON[how])


@pytest.mark.parametrize("how", JSON)
def test_predictions_that_are_none_are_refused(copied: Callable[[str, bytes], Path], how: str) -> None:
    with pytest.raises(CorruptionError) as refused:
        load(copied("fine_tune/*/predictions.json", JSON[how])).predictions(TASK)
    assert str(refused.value).count("\n") == 0
