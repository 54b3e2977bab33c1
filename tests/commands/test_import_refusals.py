"""Errors of `import`: every mistake of a folder at once, and no files after a failure."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from steeplechase.configuration.initial_checkpoint import read_initial_checkpoint
from tests.factories.command_calls import Call
from tests.factories.local_models import LEAKING, stirred_start, transformers
from tests.factories.small_experiments import WORDS


@pytest.fixture
def exported(call: Call, tmp_path: Path) -> Path:
    """Return an exported folder with a vocabulary, to be spoilt."""
    stirred_start(tmp_path / "start", LEAKING)
    assert call("export", tmp_path / "start", tmp_path / "folder").code == 0
    shutil.rmtree(tmp_path / "start")
    return tmp_path / "folder"


WRONG_CONFIGS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "another model": ({"model_type": "gpt2"}, ["model_type: 'gpt2'"]),
    "another ratio": ({"head_ratio": 4}, ["head_ratio: 4 is not supported; allowed: 2"]),
    "groups": ({"num_groups": 3}, ["num_groups: 3 does not divide", "num_groups: 3 does not divide"]),
    "true is no number": ({"num_hidden_layers": True}, ["num_hidden_layers: True"]),
    "many": (
        {"hidden_act": "relu", "layer_norm_eps": 1e-5, "position_embedding_type": "relative_key", "is_decoder": True},
        [
            "hidden_act: 'relu'",
            "layer_norm_eps: 1e-05",
            "is_decoder: True",
            "position_embedding_type: 'relative_key'",
        ],
    ),
    "our own key": ({"pad_leak": "yes"}, ["pad_leak: 'yes'"]),
}


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_every_unsupported_setting_of_a_config_is_reported(
    call: Call, tmp_path: Path, exported: Path, name: str
) -> None:
    changes, reasons = WRONG_CONFIGS[name]
    file = exported / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, answer.out) == (4, "")
    lines = answer.err.splitlines()
    assert all(line.startswith(f"{file}: {reason}") for line, reason in zip(lines, reasons, strict=True)), lines
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def odd_weights(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.attention.self.query.bias"]
    weights |= {"encoder.layer.2.x": torch.zeros(1), "\x1b[2J": torch.zeros(1)}
    weights["embeddings.LayerNorm.bias"] = torch.zeros(7)
    weights["encoder.layer.0.output.dense.bias"] = torch.zeros(32, dtype=torch.int64)
    weights["encoder.layer.0.intermediate.dense.bias"][3] = torch.nan
    save_file(weights, folder / "model.safetensors")


def nothing(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "config.json").unlink()


def renamed(name: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "model.safetensors").rename(folder / name)


def written(name: str, content: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(content)


def configured(**changes: Any) -> Callable[[Path], Any]:
    def spoil(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    return spoil


LONG = "\n".join([*(piece for piece in WORDS.pieces if piece != "[MASK]"), "more", "more", "and more"]) + "\n"
BYTE_PAIRS = json.dumps({"model": {"type": "BPE", "vocab": {"a": 1}}})
WRONG_FOLDERS: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "weights missing, odd, wrong in shape, kind and value": (
        odd_weights,
        [
            "query.bias is missing",
            "'\\x1b[2J' is not a weight of the model",
            "encoder.layer.2.x is not a weight of the model",
            "embeddings.LayerNorm.bias has the shape [7], config.json has [32]",
            "intermediate.dense.bias holds values that are not finite",
            "encoder.layer.0.output.dense.bias holds int64",
        ],
    ),
    "no files": (nothing, ["config.json: No such file", "model.safetensors: no such file"]),
    "a pickle": (renamed("pytorch_model.bin"), ["pytorch_model.bin: pickles are not read"]),
    "many files": (renamed("model.safetensors.index.json"), ["index.json: weights in several files"]),
    "other weights": (written("model.safetensors", "pickle"), ["cannot be read as safetensors"]),
    "a broken config": (written("config.json", "{"), ["config.json: is not JSON"]),
    "too many layers": (
        configured(num_hidden_layers=10**9),
        ["num_hidden_layers: 1000000000 blocks are too many; allowed: 1 to 2048"],
    ),
    "a wrong vocabulary": (
        written("vocab.txt", LONG),
        ["duplicate piece 'more', first on line", "no [MASK]", "42 pieces"],
    ),
    "other settings": (
        written("tokenizer_config.json", '{"strip_accents": false, "tokenize_chinese_chars": false}'),
        ["strip_accents: False", "tokenize_chinese_chars: false"],
    ),
    "another tokenizer": (
        written("tokenizer.json", BYTE_PAIRS),
        [
            "ALBERT's unigram are the kinds that can be read",
            'model.type is "BPE"; "WordPiece" is needed here',
            "normalizer.type is null",
            "pre_tokenizer.type is null",
        ],
    ),
}


@pytest.mark.parametrize("name", WRONG_FOLDERS)
def test_every_mistake_of_a_wrong_folder_is_reported_and_nothing_is_written(
    call: Call, tmp_path: Path, exported: Path, name: str
) -> None:
    spoil, reasons = WRONG_FOLDERS[name]
    spoil(exported)
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, answer.out) == (4, "")
    lines = answer.err.splitlines()
    assert all(reason in line for reason, line in zip(reasons, lines, strict=True)), lines
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"])
def test_a_link_out_of_the_folder_is_followed_in_a_cache_of_hugging_face_alone(
    call: Call, tmp_path: Path, exported: Path, name: str
) -> None:
    snapshot, blob = tmp_path / "cache" / "snapshots" / "0123", tmp_path / "cache" / "blobs" / "4567"
    for folder in (snapshot.parent, blob.parent):
        folder.mkdir(parents=True)
    exported.rename(snapshot)
    (snapshot / name).rename(blob)
    (snapshot / name).symlink_to("../../blobs/4567")
    assert call("import", snapshot, tmp_path / "out").code == 0
    snapshot.rename(tmp_path / "folder")
    (tmp_path / "folder" / name).unlink()
    (tmp_path / "folder" / name).symlink_to(blob)
    answer = call("import", tmp_path / "folder", tmp_path / "other")
    assert (answer.code, len(answer.err.splitlines())) == (4, 1)
    assert answer.err.startswith(
        f"{tmp_path}/folder/{name}: a symbolic link out of the model's folder is not followed"
    )
    assert not (tmp_path / "other").exists()


def test_a_loop_of_links_is_a_file_that_cannot_be_read(call: Call, tmp_path: Path, exported: Path) -> None:
    (exported / "README.md").unlink(missing_ok=True)
    (exported / "README.md").symlink_to("README.md")
    assert call("import", exported, tmp_path / "out").code == 0
    (exported / "config.json").unlink()
    (exported / "config.json").symlink_to("config.json")
    answer = call("import", exported, tmp_path / "other")
    assert (answer.code, answer.err.splitlines()[0].partition(": ")[0]) == (4, f"{exported}/config.json")


def test_two_vocabularies_that_differ_are_refused(call: Call, tmp_path: Path, exported: Path) -> None:
    vocabulary = {piece: number for number, piece in enumerate([*WORDS.pieces[:-2], *reversed(WORDS.pieces[-2:])])}
    transformers().BertTokenizer(vocabulary).save_pretrained(exported)
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, len(answer.err.splitlines())) == (4, 1)
    assert "have different vocabularies" in answer.err


def test_a_missing_source_and_an_existing_target_are_errors(call: Call, tmp_path: Path, exported: Path) -> None:
    assert call("import", tmp_path / "nowhere", tmp_path / "out").code == 5
    (tmp_path / "out").mkdir()
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, list((tmp_path / "out").iterdir())) == (6, [])


def test_files_that_differ_on_the_case_are_refused(call: Call, tmp_path: Path, exported: Path) -> None:
    transformers().BertTokenizer(str(exported / "vocab.txt"), do_lower_case=True).save_pretrained(exported)
    (exported / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, len(answer.err.splitlines())) == (4, 1)
    assert "different values of do_lower_case" in answer.err


def test_a_folder_without_a_vocabulary_cannot_initialise_an_experiment(
    call: Call, tmp_path: Path, exported: Path
) -> None:
    (exported / "vocab.txt").unlink()
    answer = call("import", exported, tmp_path / "out")
    assert answer.code == 0
    assert "no experiment can start from it" in answer.err
    assert read_initial_checkpoint(tmp_path / "out").vocabulary is None
