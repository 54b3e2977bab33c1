"""An exported folder, a language model too, loads in transformers with equal outputs and tokens."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from runners.training.checkpoint import load_weights
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel, PermutationLanguageModel
from search_space.output_layer import EmbeddingTable
from search_space.recipe import Recipe
from steeplechase.commands.huggingface.export_folder import Exported, _head, from_trial, notes_on, write
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.ledger.checkpoints import pretrained_trial
from steeplechase.ledger.paths import CHECKPOINT
from steeplechase.models.attention_context import AttentionContext, PredictionOrder
from steeplechase.models.segment_memory import read_streams
from steeplechase.tasks.objectives import build_model
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
    experiment,
    run,
    stirred_start,
    transformers,
)
from tests.factories.parity import distance, nudged
from tests.factories.small_experiments import stir

TRICKY = [
    "The Kernel slides, naïvely: the kernels of Straße!",
    "[MASK] [PAD] [cls] a[SEP]b ##s",
    "中文 and日本 éé é \u00ad \u200b\ufffd \t padding\r\n",
    "",
    "x" * 101 + " unknownword ©™ 😀",
]


@pytest.fixture(scope="module", params=["masked_language_model", "replaced_token_detection"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with a finished table under one objective."""
    folder = tmp_path_factory.mktemp(request.param)
    return run(experiment(folder, request.param), folder / "results")


def opened(folder: Path, kind: str = "AutoModel") -> Any:
    return getattr(transformers(), kind).from_pretrained(folder).eval()


@pytest.mark.parametrize(
    "architecture", [ELECTRA, ELECTRA_AS_WIDE, GROUPED, LEAKING, ROBERTA, PRE_NORM, ALBERT, GPT, XLNET]
)
def test_automodel_computes_the_same_with_every_weight_in_play(
    call: Call, tmp_path: Path, architecture: Architecture
) -> None:
    weights = stirred_start(tmp_path / "start", architecture)
    answer = call("export", tmp_path / "start", tmp_path / "out")
    assert (answer.code, answer.out) == (0, "")
    ours, theirs = encoder_with(architecture, weights), opened(tmp_path / "out")
    without, padded = differences(ours, theirs)
    assert without <= LARGEST_DIFFERENCE
    leaks_as_theirs = architecture is not GROUPED
    assert (padded <= LARGEST_DIFFERENCE) == leaks_as_theirs
    assert ("padding: masked" in answer.err) != leaks_as_theirs  # told where it differs, and only there
    assert ("padding: masked" in (tmp_path / "out" / "README.md").read_text()) != leaks_as_theirs


@pytest.mark.parametrize("architecture", [LEAKING, GPT])
def test_a_nudge_to_any_exported_tensor_is_noticed(call: Call, tmp_path: Path, architecture: Architecture) -> None:
    """The comparison above can fail: every tensor is seen in it, but a key's bias, which softmax does not see."""
    ours = encoder_with(architecture, stirred_start(tmp_path / "start", architecture))
    call("export", tmp_path / "start", tmp_path / "out")
    theirs = opened(tmp_path / "out")
    for name in nudged(theirs.named_parameters(), 1e-2):
        if not name.endswith("attention.self.key.bias"):
            assert differences(ours, theirs)[0] > LARGEST_DIFFERENCE, name


@pytest.mark.parametrize(("kind", "size"), [("byte_bpe", 280), ("unigram", 70)])
def test_every_tokenizer_opens_with_the_tokens_of_training(call: Call, tmp_path: Path, kind: str, size: int) -> None:
    document = json.loads(experiment(tmp_path, "masked_language_model").model_dump_json())
    document["baseline"]["architecture"]["vocabulary_size"] = size
    wanted = Experiment.model_validate_json(json.dumps({**document, "tokenizer": {"kind": kind}}))
    folder = run(wanted, tmp_path / "results")
    answer = call("export", folder, tmp_path / "out", "--trial", "baseline/1")
    assert answer.code == 0, answer.err
    words = load_tokenizer(pretrained_trial(folder, "baseline/1").tokens)
    assert (words.kind, words.vocabulary_size) == (kind, size)
    tokenizer = transformers().AutoTokenizer.from_pretrained(tmp_path / "out", split_special_tokens=True)
    assert (len(tokenizer), tokenizer.pad_token_id, tokenizer.mask_token_id) == (size, words.pad, words.mask)
    assert [tokenizer(text, add_special_tokens=False).input_ids for text in TRICKY] == words.encode(TRICKY)
    first, second = words.encode(["the kernel", "padding"])
    pair = tokenizer("the kernel", "padding")
    assert pair.input_ids == [words.classify, *first, words.separate, *second, words.separate]
    assert pair.token_type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)


@pytest.mark.parametrize("arm", ["baseline", "released"])
def test_a_trained_trial_opens_with_its_weights_head_and_tokens(
    call: Call, tmp_path: Path, results: Path, arm: str
) -> None:
    answer = call("export", results, tmp_path / "out", "--trial", f"{arm}/1")
    assert answer.code == 0, answer.err
    found = from_trial(results, f"{arm}/1")
    ours = encoder_with(
        found.architecture, {n: v for n, v in found.weights.items() if not n.startswith(("head.", "judge."))}
    )
    assert differences(ours, opened(tmp_path / "out"))[0] <= LARGEST_DIFFERENCE
    card = (tmp_path / "out" / "README.md").read_text()
    for word in (arm, "512", found.provenance["checkpoint sha256"], "model.safetensors sha256"):
        assert word in card
    tokenizer = transformers().AutoTokenizer.from_pretrained(tmp_path / "out", split_special_tokens=True)
    words = load_tokenizer(pretrained_trial(results, f"{arm}/1").tokens)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert tokenizer.pad_token_id == words.pad == config["pad_token_id"]
    assert [tokenizer(text, add_special_tokens=False).input_ids for text in TRICKY] == words.encode(TRICKY)
    masking = transformers().AutoTokenizer.from_pretrained(tmp_path / "out")  # as the model card says
    assert masking("the [MASK]", add_special_tokens=False).input_ids == [*words.encode(["the"])[0], words.mask]
    pair = tokenizer("the kernel", "padding")
    first, second = words.encode(["the kernel", "padding"])
    assert pair.input_ids == [words.classify, *first, words.separate, *second, words.separate]
    assert pair.token_type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)


@torch.no_grad()
def test_a_pretraining_head_has_equal_outputs_if_transformers_supports_it(
    call: Call, tmp_path: Path, results: Path
) -> None:
    for arm in ("baseline", "released"):
        folder, found = tmp_path / arm, pretrained_trial(results, f"{arm}/1")
        answer = call("export", results, folder, "--trial", f"{arm}/1")
        candidate, tokens = found.candidate, torch.randint(100, (2, 12), generator=torch.Generator().manual_seed(4))
        generator = candidate.objective.generator_of(candidate.architecture, candidate.architecture)
        model: Any = build_model(candidate, generator, 1).eval()
        if candidate.objective.kind == "masked_language_model":
            load_weights(found.stage / CHECKPOINT, model)
            everywhere = torch.arange(12).expand(2, 12)
            theirs = opened(folder, "AutoModelForMaskedLM")(tokens).logits.flatten(0, 1)
            assert (model.predict(tokens, everywhere) - theirs).abs().max() <= LARGEST_DIFFERENCE
        elif arm == "baseline":
            load_weights(found.stage / CHECKPOINT, model.judge, "judge.")
            load_weights(found.stage / CHECKPOINT, model.encoder, "encoder.")
            theirs = opened(folder, "AutoModelForPreTraining")(tokens).logits
            assert (model.judge(model.encoder(tokens)) - theirs).abs().max() <= LARGEST_DIFFERENCE
        else:
            assert "the encoder alone" in answer.err


def test_an_untrained_model_is_initialised_like_a_pretraining_with_its_seed(call: Call, tmp_path: Path) -> None:
    wanted = experiment(tmp_path, "masked_language_model").baseline
    (tmp_path / "candidate.yaml").write_text(json.dumps(wanted.model_dump()))
    for seed in ("1", "2"):
        answer = call("export", tmp_path / "candidate.yaml", tmp_path / seed, "--seed", seed)
        assert "no tokenizer files" in answer.err
    assert not list((tmp_path / "1").glob("*token*"))
    first = {name: value.detach() for name, value in build_model(wanted, None, 1).encoder.named_parameters()}
    assert differences(encoder_with(wanted.architecture, first), opened(tmp_path / "1"))[0] <= LARGEST_DIFFERENCE
    assert (tmp_path / "1" / "model.safetensors").read_bytes() != (tmp_path / "2" / "model.safetensors").read_bytes()


def test_the_same_export_is_the_same_bytes(call: Call, tmp_path: Path) -> None:
    stirred_start(tmp_path / "start", GROUPED)
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        call("export", tmp_path / "start", folder)
    assert {path.name: path.read_bytes() for path in first.iterdir()} == {
        path.name: path.read_bytes() for path in second.iterdir()
    }


LENGTH = 11


OBJECTIVE = LanguageModel(output_layer=EmbeddingTable())


def exported(objective: LanguageModel | PermutationLanguageModel, folder: Path) -> tuple[Any, Exported]:
    """Return our model, with every weight in play, and what was exported of it into a folder."""
    architecture = GPT if isinstance(objective, LanguageModel) else XLNET
    candidate = Candidate(architecture=architecture, objective=objective, recipe=Recipe(dropout=0.0))
    model = build_model(candidate, None, 1)
    stir(model)
    weights = {name.removeprefix("encoder."): value.detach() for name, value in model.named_parameters()}
    source = Exported("a model", architecture, 0.0, weights, {}, None, _head(objective))
    write(source, [*notes_on(source)], folder)
    return model.eval(), source


def tokens() -> Tensor:
    return torch.randint(5, GPT.vocabulary_size, (3, LENGTH), generator=torch.Generator().manual_seed(2))


def check_every_tensor(theirs: nn.Module, logits: Callable[[], Tensor], expected: Tensor) -> None:
    """Check that logits are those expected, and that a change of any tensor is noticed."""
    assert distance(logits(), expected) <= LARGEST_DIFFERENCE
    for name in nudged(theirs.named_parameters()):
        assert distance(logits(), expected) > LARGEST_DIFFERENCE, name


@torch.no_grad()
def test_logits_of_gpt_equal_those_of_transformers(tmp_path: Path) -> None:
    ours, _ = exported(OBJECTIVE, tmp_path / "out")
    theirs = transformers().OpenAIGPTLMHeadModel.from_pretrained(tmp_path / "out").eval()
    expected = ours.head(ours.encoder(tokens()).flatten(0, 1), ours.token_table)
    check_every_tensor(theirs, lambda: theirs(tokens()).logits.flatten(0, 1), expected)


@torch.no_grad()
def test_logits_of_xlnet_equal_those_of_transformers(tmp_path: Path) -> None:
    ours, _ = exported(PermutationLanguageModel(), tmp_path / "out")
    theirs = transformers().XLNetLMHeadModel.from_pretrained(tmp_path / "out").eval()
    random = torch.Generator().manual_seed(2)
    drawn = torch.stack([torch.randperm(LENGTH, generator=random)[:4] for _ in tokens()])
    ranks = torch.zeros_like(tokens()).scatter(1, drawn, torch.arange(1, 5).expand(3, -1))
    order, segments = PredictionOrder(ranks, drawn), torch.randint(2, tokens().shape, generator=random)
    streams = read_streams(ours.encoder, tokens(), AttentionContext(order=order, segments=segments))
    expected = ours.head(streams.query.flatten(0, 1), ours.token_table)
    hides = (order.ranks[:, :, None] <= order.ranks[:, None, :]) & (order.ranks[:, None, :] > 0)
    asked = nn.functional.one_hot(order.positions, LENGTH).float()
    given = {"perm_mask": hides.float(), "target_mapping": asked, "token_type_ids": segments}
    check_every_tensor(theirs, lambda: theirs(tokens(), **given).logits.flatten(0, 1), expected)


def test_an_exported_xlnet_is_imported_with_equal_weights(call: Call, tmp_path: Path) -> None:
    _, source = exported(PermutationLanguageModel(), tmp_path / "out")
    answer = call("import", tmp_path / "out", tmp_path / "start")
    assert answer.code == 0, answer.err
    assert "left out, not part of an encoder: lm_loss.bias" in answer.err
    start = read_initial_checkpoint(tmp_path / "start")
    assert start.architecture == XLNET
    weights = load_file(tmp_path / "start" / WEIGHTS)
    encoder = {name: value for name, value in source.weights.items() if not name.startswith("head.")}
    assert weights.keys() == encoder.keys()
    assert all(torch.equal(weights[name], value) for name, value in encoder.items())
