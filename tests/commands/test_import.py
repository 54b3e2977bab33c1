"""A Hugging Face folder becomes an initial checkpoint with equal weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from search_space.architecture import Architecture
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.tasks.tokenizer import load_tokenizer
from tests.factories.command_calls import Call
from tests.factories.local_models import (
    ALBERT,
    ELECTRA,
    ELECTRA_AS_WIDE,
    GPT,
    GROUPED,
    LARGEST_DIFFERENCE,
    LEAKING,
    PRE_NORM,
    ROBERTA,
    XLNET,
    differences,
    encoder_with,
    stirred_start,
    transformers,
)
from tests.factories.small_experiments import WORDS, stir

SIZES: dict[str, Any] = {
    "vocab_size": WORDS.vocabulary_size,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
}
PADDED = {"pad_token_id": 0, "type_vocab_size": 2, "layer_norm_eps": 1e-5}
NARROW = {**SIZES, "embedding_size": 16}
GPT_SIZES = {"vocab_size": WORDS.vocabulary_size, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 24}
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
    "RobertaModel": ("RobertaConfig", {**SIZES, **PADDED}, ["pooler.dense.weight"]),
    "RobertaForMaskedLM": ("RobertaConfig", {**SIZES, **PADDED}, ["lm_head.dense.weight"]),
    "RobertaPreLayerNormModel": ("RobertaPreLayerNormConfig", {**SIZES, **PADDED}, ["pooler.dense.weight"]),
    "RobertaPreLayerNormForMaskedLM": ("RobertaPreLayerNormConfig", {**SIZES, **PADDED}, ["lm_head.dense.weight"]),
    "AlbertModel": ("AlbertConfig", NARROW, ["pooler.weight", "pooler.bias"]),
    "AlbertForMaskedLM": ("AlbertConfig", NARROW, ["predictions.dense.weight"]),
    "OpenAIGPTModel": ("OpenAIGPTConfig", GPT_SIZES, []),
    "OpenAIGPTLMHeadModel": ("OpenAIGPTConfig", GPT_SIZES, []),
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


@pytest.mark.parametrize(
    "architecture", [ELECTRA, ELECTRA_AS_WIDE, GROUPED, LEAKING, ROBERTA, PRE_NORM, ALBERT, GPT, XLNET]
)
def test_an_exported_model_is_imported_bit_for_bit(call: Call, tmp_path: Path, architecture: Architecture) -> None:
    weights = stirred_start(tmp_path / "start", architecture)
    for command, source, out in (
        ("export", "start", "there"),
        ("import", "there", "back"),
        ("export", "back", "again"),
    ):
        answer = call(command, tmp_path / source, tmp_path / out)
        assert (answer.code, answer.out) == (0, ""), answer.err
    start = read_initial_checkpoint(tmp_path / "back")
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
    start = read_initial_checkpoint(tmp_path / "out")
    ours = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    body = getattr(theirs, theirs.base_model_prefix, theirs)
    without, padded = differences(ours, body)
    assert max(without, padded) <= LARGEST_DIFFERENCE  # padding leaks into a ConvBERT as it does there
    left = CLASSES[kind][2]
    assert set(left) <= set(start.provenance.left_out)
    assert bool(start.provenance.left_out) == bool(left) == ("left out" in answer.err)
    assert all(name in answer.err for name in left)


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
    assert "converted to float32" in answer.err
    start = read_initial_checkpoint(tmp_path / "out")
    ours = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    assert differences(ours, theirs.float())[0] <= LARGEST_DIFFERENCE
