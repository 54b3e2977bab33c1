"""A Hugging Face folder becomes an initial checkpoint with equal weights, from which every arm begins."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from runners.dag import shared_stages, trial_stages
from search_space.architecture import Architecture
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.checkpoints import pretrained_trial
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
    MIXED,
    PRE_NORM,
    RELEASED,
    ROBERTA,
    XLNET,
    corpus,
    differences,
    encoder_with,
    experiment,
    run,
    sized,
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


ARCHITECTURE = sized(**RELEASED)


def document(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """Return a table whose arms differ in how they are trained, from the start in `tmp_path`."""
    plain = experiment(tmp_path, "masked_language_model").model_dump(mode="json")
    plain["baseline"]["architecture"] = sized(**MIXED).model_dump()  # padding is no matter of weights
    plain["design"] = {"kind": "list", "arms": {"slow": {"recipe.peak_learning_rate": 1e-4}}}
    plain["tokenizer"] = {
        "kind": "vocabulary",
        "path": str(tmp_path / "start" / "vocab.txt"),
        "lowercase": True,
    }
    plain["pretraining"]["init_checkpoint"] = str(tmp_path / "start")
    return {**plain, **changes}


def refusal_lines(tmp_path: Path, call: Call, **changes: Any) -> list[str]:
    """Return what `plan` says against the experiment with these changes."""
    file = tmp_path / "experiment.yaml"
    file.write_text(json.dumps(document(tmp_path, **changes)))
    answer = call("plan", file)
    assert answer.code == (3 if answer.err else 0)
    return answer.err.splitlines()


def keys(wanted: Experiment, seed: int = 1) -> dict[str, str]:
    shared = shared_stages(wanted)
    stages = trial_stages(wanted, shared, wanted.baseline, seed)
    return {label: stage.key for label, stage in {**shared.by_label, **stages}.items()}


def read(text: dict[str, Any]) -> Experiment:
    return Experiment.model_validate_json(json.dumps(text))


def test_every_arm_begins_with_the_checkpoints_encoder_and_seeded_heads(tmp_path: Path) -> None:
    weights = stirred_start(tmp_path / "start", ARCHITECTURE)
    started = document(tmp_path)
    started["baseline"]["recipe"] |= {"peak_learning_rate": 1e-30, "weight_decay": 0.0}  # nothing moves
    started["design"]["arms"] = {"awake": {"recipe.dropout": 0.0}}
    results = run(read(started), tmp_path / "results")
    for trial in ("baseline/1", "awake/1"):
        found = load_file(pretrained_trial(results, trial).stage / "checkpoint" / WEIGHTS)
        assert all(torch.equal(found[f"encoder.{name}"], value) for name, value in weights.items())
        assert found["head.transform.weight"].std() < 0.03  # drawn anew


def test_keys_include_the_checkpoints_weights_but_not_its_path(tmp_path: Path) -> None:
    corpus(tmp_path / "texts")
    stirred_start(tmp_path / "start", ARCHITECTURE)
    here = keys(read(document(tmp_path)))
    elsewhere = document(tmp_path)
    shutil.copytree(tmp_path / "start", tmp_path / "copy")
    elsewhere["pretraining"]["init_checkpoint"] = str(tmp_path / "copy")
    assert keys(read(elsewhere)) == here
    shutil.rmtree(tmp_path / "start")
    stirred_start(tmp_path / "start", ARCHITECTURE, seed=2)
    others = keys(read(document(tmp_path)))
    assert {label for label in here if others[label] != here[label]} == {"pretrain@512"}
    without = document(tmp_path)
    del without["pretraining"]["init_checkpoint"]
    assert {label for label in here if keys(read(without))[label] != here[label]} == {"pretrain@512"}


def test_only_a_trials_first_stage_reads_the_initial_checkpoint(tmp_path: Path) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    hurdled = document(tmp_path, design={"kind": "search", "space": {"recipe.dropout": [0.0, 0.1]}})
    hurdled["pretraining"] |= {"hurdle": {"kind": "progressive_mean", "rungs": [256]}}
    wanted = read(hurdled)
    assert list(violations_of(wanted)) == []
    stages = trial_stages(wanted, shared_stages(wanted), wanted.baseline, 1)
    starts = [stage.declaration.model_dump()["init_checkpoint"] for stage in stages.values()]
    assert starts == [str(tmp_path / "start"), None]


def test_an_arm_with_another_architecture_is_an_error_with_its_name_and_fields(tmp_path: Path, call: Call) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    arms = {
        "deep": {"depth": 3, "segments": 4},
        "wide": {"convolution.kernel_size": 7},
        "slow": {"recipe.dropout": 0.0},
    }
    deep_depth, deep_segments, wide = sorted(refusal_lines(tmp_path, call, design={"kind": "list", "arms": arms}))
    assert "pretraining.init_checkpoint: deep cannot be initialised from" in deep_depth
    assert "depth 3 here, 2 in the initial checkpoint" in deep_depth
    assert "segments 4 here, 2 in the initial checkpoint" in deep_segments
    assert "wide cannot be initialised" in wide
    assert '"kernel_size":7' in wide


def test_a_search_over_the_architecture_cannot_use_an_initial_checkpoint(tmp_path: Path, call: Call) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    space = {"convolution.kernel_size": [5, 7], "recipe.dropout": [0.0, 0.1]}
    (line,) = refusal_lines(tmp_path, call, design={"kind": "search", "space": space})
    assert "design.space.convolution.kernel_size: would change the architecture" in line


@pytest.mark.parametrize(
    "tokenizer",
    [{"kind": "wordpiece"}, {"kind": "vocabulary", "path": "START", "lowercase": False}],
    ids=["another vocabulary", "another case"],
)
def test_text_is_read_with_the_checkpoints_vocabulary(tmp_path: Path, call: Call, tokenizer: dict[str, Any]) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURE)
    file = str(tmp_path / "start" / "vocab.txt")
    written = {key: file if value == "START" else value for key, value in tokenizer.items()}
    (line,) = refusal_lines(tmp_path, call, tokenizer=written)
    assert f"write tokenizer: {{ kind: vocabulary, path: {file}, lowercase: true }}" in line


def test_a_missing_or_damaged_initial_checkpoint_is_an_error(tmp_path: Path, call: Call) -> None:
    assert "no initial checkpoint here; `steeplechase import" in refusal_lines(tmp_path, call)[0]
    stirred_start(tmp_path / "start", ARCHITECTURE)
    weights = tmp_path / "start" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptionError, match="differs from the imported file"):
        shared_stages(read(document(tmp_path)))
    (tmp_path / "start" / "architecture.yaml").write_text("depth: 1\n")
    assert "architecture.yaml: differs from the imported file" in refusal_lines(tmp_path, call)[0]
