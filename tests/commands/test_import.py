"""A Hugging Face folder becomes a start with the same weights; a wrong one is told in full and nothing is written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from calling import Call
from models_at_hand import (
    ELECTRA,
    ELECTRA_AS_WIDE,
    GROUPED,
    LARGEST_DIFFERENCE,
    LEAKING,
    differences,
    encoder_with,
    stirred_start,
    transformers,
)
from safetensors.torch import load_file, save_file
from small import WORDS, stir

from runners.start import WEIGHTS, read_start
from search_space.architecture import Architecture
from tasks.tokenizer import load_tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": WORDS.vocabulary_size,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
}
NARROW = {**SIZES, "embedding_size": 16}
CLASSES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "ConvBertModel": ("ConvBertConfig", {**NARROW, "conv_kernel_size": 5, "num_groups": 2}, []),
    "ConvBertForMaskedLM": (
        "ConvBertConfig",
        NARROW,
        ["generator_lm_head.bias", "generator_predictions.dense.weight"],
    ),
    "ElectraModel": ("ElectraConfig", NARROW, []),
    "ElectraForPreTraining": ("ElectraConfig", NARROW, ["discriminator_predictions.dense.bias"]),
    "BertModel": ("BertConfig", SIZES, ["pooler.dense.weight", "pooler.dense.bias"]),
    "BertForPreTraining": ("BertConfig", SIZES, ["bert.pooler.dense.bias", "cls.predictions.bias"]),
    "BertForQuestionAnswering": ("BertConfig", SIZES, ["qa_outputs.weight"]),
}


def saved(folder: Path, kind: str) -> Any:
    """Write a model of transformers with every weight in play, and a vocabulary, as it writes them."""
    config, sizes, _ = CLASSES[kind]
    model = getattr(transformers(), kind)(getattr(transformers(), config)(**sizes))
    stir(model)
    model.save_pretrained(folder)
    WORDS.save(folder)
    (folder / "tokenizer.json").unlink()  # ours, not theirs
    return model.eval()


@pytest.fixture
def exported(call: Call, tmp_path: Path) -> Path:
    """Return an exported folder with a vocabulary, to be spoilt."""
    stirred_start(tmp_path / "start", LEAKING)
    assert call("export", tmp_path / "start", tmp_path / "folder").code == 0
    shutil.rmtree(tmp_path / "start")
    return tmp_path / "folder"


@pytest.mark.parametrize("architecture", [ELECTRA, ELECTRA_AS_WIDE, GROUPED, LEAKING])
def test_what_was_exported_comes_back_bit_for_bit(call: Call, tmp_path: Path, architecture: Architecture) -> None:
    weights = stirred_start(tmp_path / "start", architecture)
    for command, source, out in (
        ("export", "start", "there"),
        ("import", "there", "back"),
        ("export", "back", "again"),
    ):
        answer = call(command, tmp_path / source, tmp_path / out)
        assert (answer.code, answer.out) == (0, ""), answer.err
    start = read_start(tmp_path / "back")
    assert start.architecture == architecture
    found = load_file(start.verify(WEIGHTS))
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], value) for name, value in weights.items())
    assert (load_tokenizer(tmp_path / "back").pieces, start.vocabulary) == (WORDS.pieces, {
        "kind": "vocabulary", "lowercase": True, "sha256": WORDS.vocabulary_hash,
    })  # fmt: skip
    for name in ("config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_gives_its_encoder_and_names_what_was_left(call: Call, tmp_path: Path, kind: str) -> None:
    theirs = saved(tmp_path / "folder", kind)
    answer = call("import", tmp_path / "folder", tmp_path / "out")
    assert answer.code == 0, answer.err
    start = read_start(tmp_path / "out")
    ours = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    body = getattr(theirs, theirs.base_model_prefix, theirs)
    without, padded = differences(ours, body)
    assert max(without, padded) <= LARGEST_DIFFERENCE  # padding leaks into a ConvBERT as it does there
    left = CLASSES[kind][2]
    assert set(left) <= set(start.provenance.left_out)
    assert bool(start.provenance.left_out) == bool(left) == ("left out" in answer.err)
    assert all(name in answer.err for name in left)


@pytest.mark.parametrize("kind", ["ConvBertModel", "BertModel"])
def test_an_imported_model_opens_again_with_equal_outputs(call: Call, tmp_path: Path, kind: str) -> None:
    """A BERT comes back as the ELECTRA that computes the same."""
    theirs = saved(tmp_path / "folder", kind)
    call("import", tmp_path / "folder", tmp_path / "start")
    call("export", tmp_path / "start", tmp_path / "out")
    start = read_start(tmp_path / "start")
    ours = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    again = transformers().AutoModel.from_pretrained(tmp_path / "out").eval()
    assert max(differences(ours, theirs)) <= LARGEST_DIFFERENCE
    assert max(differences(ours, again)) <= LARGEST_DIFFERENCE


def test_a_vocabulary_is_read_from_either_file_with_its_case(call: Call, tmp_path: Path) -> None:
    library = transformers()
    for lowercase in (True, False):
        folder = tmp_path / f"folder {lowercase}"
        saved(folder, "ElectraModel")
        vocabulary = {piece: number for number, piece in enumerate(WORDS.pieces)}
        library.BertTokenizer(vocabulary, do_lower_case=lowercase).save_pretrained(folder)
        assert (folder / "tokenizer.json").is_file()
        for given in ("both", "tokenizer.json"):
            if given == "tokenizer.json":
                (folder / "vocab.txt").unlink()
            out = tmp_path / f"{lowercase} {given}"
            answer = call("import", folder, out)
            assert answer.code == 0, answer.err
            words = load_tokenizer(out)
            assert (words.pieces, words.lowercase) == (WORDS.pieces, lowercase)


def test_files_that_differ_on_the_case_are_refused(call: Call, tmp_path: Path, exported: Path) -> None:
    transformers().BertTokenizer(str(exported / "vocab.txt"), do_lower_case=True).save_pretrained(exported)
    (exported / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, len(answer.err.splitlines())) == (4, 1)
    assert "differ on do_lower_case" in answer.err


def test_old_names_and_half_precision_are_understood(call: Call, tmp_path: Path) -> None:
    theirs = saved(tmp_path / "folder", "BertModel").half()
    state = {f"bert.{name}": value for name, value in theirs.state_dict().items()}
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in state.items()
    }
    save_file({**old, "bert.embeddings.position_ids": torch.arange(24)}, tmp_path / "folder" / "model.safetensors")
    answer = call("import", tmp_path / "folder", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "widened to float32" in answer.err
    start = read_start(tmp_path / "out")
    ours = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    assert differences(ours, theirs.float())[0] <= LARGEST_DIFFERENCE


def test_a_folder_without_a_vocabulary_is_no_start_and_is_told_so(call: Call, tmp_path: Path, exported: Path) -> None:
    (exported / "vocab.txt").unlink()
    answer = call("import", exported, tmp_path / "out")
    assert answer.code == 0
    assert "no experiment can start from it" in answer.err
    assert read_start(tmp_path / "out").vocabulary is None


WRONG_CONFIGS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "another model": ({"model_type": "gpt2"}, ["model_type: 'gpt2'"]),
    "an even kernel": ({"conv_kernel_size": 4}, ["conv_kernel_size: 4 is even"]),
    "another ratio": ({"head_ratio": 4}, ["head_ratio: 4 cannot be read; allowed: 2"]),
    "odd heads": ({"num_attention_heads": 3, "hidden_size": 33}, ["num_attention_heads: 2 does not divide heads 3"]),
    "groups": ({"num_groups": 3}, ["num_groups: 3 does not divide", "num_groups: 3 does not divide"]),
    "no number": ({"hidden_size": "32", "vocab_size": 0}, ["hidden_size: '32'", "vocab_size: 0"]),
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
def test_a_config_that_cannot_be_ours_is_told_in_full(call: Call, tmp_path: Path, exported: Path, name: str) -> None:
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
    weights["encoder.layer.2.x"] = torch.zeros(1)
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
            "encoder.layer.2.x is no weight of the model",
            "embeddings.LayerNorm.bias has the shape [7], config.json asks for [32]",
            "intermediate.dense.bias holds values that are not finite",
            "encoder.layer.0.output.dense.bias holds int64",
        ],
    ),
    "no files": (nothing, ["config.json: No such file", "model.safetensors: no such file"]),
    "a pickle": (renamed("pytorch_model.bin"), ["pytorch_model.bin: no pickle is ever read"]),
    "many files": (renamed("model.safetensors.index.json"), ["index.json: weights in several files"]),
    "other weights": (written("model.safetensors", "pickle"), ["cannot be read as safetensors"]),
    "a broken config": (written("config.json", "{"), ["config.json: is not JSON"]),
    "a list as config": (written("config.json", "[]"), ["config.json: a mapping is needed"]),
    "too many layers": (configured(num_hidden_layers=10**9), ["asks for 1000000000 layers"]),
    "too many words": (configured(vocab_size=2**52), ["config.json asks for 2 layers and"]),
    "a wrong vocabulary": (written("vocab.txt", LONG), ["'more' is already on line", "no [MASK]", "42 pieces"]),
    "other settings": (
        written("tokenizer_config.json", '{"strip_accents": false, "tokenize_chinese_chars": false}'),
        ["strip_accents: False", "tokenize_chinese_chars: false"],
    ),
    "another tokenizer": (
        written("tokenizer.json", BYTE_PAIRS),
        [
            "model.type: 'BPE'",
            "model.unk_token",
            "model.continuing_subword_prefix",
            "model.max_input_chars_per_word",
            "normalizer.type",
            "normalizer.clean_text",
            "pre_tokenizer.type",
            "normalizer.lowercase",
            "model.vocab: the pieces are not numbered",
        ],
    ),
}


@pytest.mark.parametrize("name", WRONG_FOLDERS)
def test_a_wrong_folder_is_told_in_full_and_nothing_is_written(
    call: Call, tmp_path: Path, exported: Path, name: str
) -> None:
    spoil, reasons = WRONG_FOLDERS[name]
    spoil(exported)
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, answer.out) == (4, "")
    lines = answer.err.splitlines()
    assert all(reason in line for reason, line in zip(reasons, lines, strict=True)), lines
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_two_vocabularies_that_differ_are_refused(call: Call, tmp_path: Path, exported: Path) -> None:
    vocabulary = {piece: number for number, piece in enumerate([*WORDS.pieces[:-2], *reversed(WORDS.pieces[-2:])])}
    transformers().BertTokenizer(vocabulary).save_pretrained(exported)
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, len(answer.err.splitlines())) == (4, 1)
    assert "hold different vocabularies" in answer.err


def test_what_is_not_there_or_there_already_is_refused(call: Call, tmp_path: Path, exported: Path) -> None:
    assert call("import", tmp_path / "nowhere", tmp_path / "out").code == 5
    (tmp_path / "out").mkdir()
    answer = call("import", exported, tmp_path / "out")
    assert (answer.code, list((tmp_path / "out").iterdir())) == (6, [])
