"""Errors of `export`: every reason at once, and no files after a failure."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import CHECKPOINT
from tests.factories.command_calls import TABLE, Call
from tests.factories.local_models import ELECTRA, experiment, run, stirred_start


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with a finished table."""
    folder = tmp_path_factory.mktemp("refusals")
    return run(experiment(folder, "masked_language_model"), folder / "results")


RATIO = "bottleneck_ratio 4 has no equivalent in transformers: ConvBertModel supports γ = 2 only"
OWN = "convolution.value shared has no equivalent in transformers"
IMPOSSIBLE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no γ": ({"convolution": {"kind": "span_dynamic"}}, ["bottleneck_ratio 1 has no equivalent in transformers"]),
    "both": ({"bottleneck_ratio": 4, "convolution": {"kind": "span_dynamic", "value": "shared"}}, [RATIO, OWN]),
    "groups and γ without convolution": (
        {"bottleneck_ratio": 2, "feed_forward_groups": 2},
        [
            "bottleneck_ratio 2 has no equivalent",
            "feed_forward_groups 2 has no equivalent",
        ],
    ),
    "another convolution": (
        {"bottleneck_ratio": 2, "convolution": {"kind": "dynamic"}},
        ["convolution dynamic has no equivalent in transformers", "bottleneck_ratio 2 has no equivalent"],
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_architecture_without_equivalent_in_transformers_is_an_error_with_every_reason(
    call: Call, tmp_path: Path, name: str
) -> None:
    changes, reasons = IMPOSSIBLE[name]
    (tmp_path / "file.yaml").write_text(json.dumps({"depth": 1, "width": 32, "heads": 4, **changes}))
    answer = call("export", tmp_path / "file.yaml", tmp_path / "out")
    assert (answer.code, answer.out) == (3, "")
    assert all(reason in line for reason, line in zip(reasons, answer.err.splitlines(), strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["file.yaml"]


def test_an_unknown_trial_is_an_error_with_the_known_ones(call: Call, tmp_path: Path, results: Path) -> None:
    choices = "baseline/1, mixed/1, released/1, narrow/1"
    for trial, words in ((["--trial", "mixd/1"], ["'mixd/1'", "Did you mean 'mixed/1'?"]), ([], ["--trial"])):
        answer = call("export", results, tmp_path / "out", *trial)
        assert (answer.code, answer.out) == (3, "")
        for word in (*words, choices):
            assert word in answer.err


def test_a_trial_without_an_end_has_no_weights_to_export(call: Call, tmp_path: Path, results: Path) -> None:
    answer = call("export", results, tmp_path / "out", "--trial", "wild/1")
    assert (answer.code, answer.out, list(tmp_path.iterdir())) == (3, "", [])
    assert "wild/1 is diverged" in answer.err


def test_a_trial_with_missing_or_damaged_files_is_an_error(call: Call, tmp_path: Path, results: Path) -> None:
    with closing(Ledger.at(results)) as ledger:
        key = next(each.key for each in ledger.records() if each.trial == "mixed/1")
    copy = shutil.copytree(results, tmp_path / "results")
    weights = copy / "stages" / "pretrain" / key / CHECKPOINT / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    damaged = call("export", copy, tmp_path / "out", "--trial", "mixed/1")
    shutil.rmtree(copy / "stages")
    gone = call("export", copy, tmp_path / "out", "--trial", "mixed/1")
    assert (damaged.code, gone.code) == (7, 5)
    assert "weights.safetensors differs from what was written" in damaged.err
    assert "the files of this stage are missing; bring the stages back" in gone.err
    assert not (tmp_path / "out").exists()


def test_a_trial_of_which_only_the_rows_were_taken_over_is_an_error_that_names_the_lender(
    call: Call, tmp_path: Path, results: Path
) -> None:
    lender = shutil.copytree(results, tmp_path / "lender")
    borrower = run(experiment(tmp_path, "masked_language_model"), tmp_path / "borrower", [lender])
    answer = call("export", borrower, tmp_path / "out", "--trial", "mixed/1")
    assert (answer.code, answer.out) == (5, "")
    assert "mixed/1 was taken from lender by --reuse, and only its rows are here. Name lender instead" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nowhere",), 3, ["'nowhere'", "convbert-small"]),
        (("experiments",), 5, ["experiments", "no ledger here"]),
        ((TABLE, "--trial", "baseline/1"), 3, ["--trial: belongs to a results folder"]),
        (("experiments", "--seed", "2", "--scale", "demo"), 3, ["--seed: belongs to", "--scale: belongs to"]),
    ],
)
def test_an_invalid_source_is_an_error(
    call: Call, tmp_path: Path, arguments: tuple[str | Path, ...], code: int, words: list[str]
) -> None:
    answer = call("export", arguments[0], tmp_path / "out", *arguments[1:])
    assert (answer.code, answer.out, list(tmp_path.iterdir())) == (code, "", [])
    for word in words:
        assert word in answer.err


def test_nothing_is_written_over_and_a_failure_leaves_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stirred_start(tmp_path / "start", ELECTRA)
    (tmp_path / "out").mkdir()
    answer = call("export", tmp_path / "start", tmp_path / "out")
    assert (answer.code, list((tmp_path / "out").iterdir())) == (6, [])
    assert call("export", tmp_path / "start", tmp_path / "start" / "vocab.txt" / "out").code == 5
    shutil.rmtree(tmp_path / "out")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("steeplechase.commands.huggingface.export_folder._card", killed)  # the last file of all
    assert call("export", tmp_path / "start", tmp_path / "out").code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["start"]


def test_a_changed_initial_checkpoint_is_corruption(call: Call, tmp_path: Path) -> None:
    weights = stirred_start(tmp_path / "start", ELECTRA)
    moved = {**weights, "embeddings.norm.bias": weights["embeddings.norm.bias"] + 1}
    save_file(moved, tmp_path / "start" / "weights.safetensors")
    answer = call("export", tmp_path / "start", tmp_path / "out")
    assert answer.code == 7
    assert "differs from the imported file" in answer.err
    assert not (tmp_path / "out").exists()
