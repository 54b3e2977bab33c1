"""BART and Marian by `export` and `import`: equal logits, the same generated tokens, and refusals in one line."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from search_space.architecture import Architecture
from steeplechase.configuration.initial_checkpoint import WEIGHTS, read_initial_checkpoint
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import target_decoding
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from tests.factories.command_calls import Call
from tests.factories.encoder_decoder_references import HF_SIZES, stirred
from tests.factories.local_models import LARGEST_DIFFERENCE, encoder_with, stirred_start, transformers
from tests.factories.parity import distance
from tests.factories.small_experiments import WORDS

SIZES: dict[str, Any] = {
    "kind": "encoder_decoder", "depth": 2, "decoder_depth": 1, "width": 32, "heads": 4, "feed_forward_width": 48,
    "vocabulary_size": WORDS.vocabulary_size,
}  # fmt: skip
BART = {
    **SIZES, "positions": 26, "position": {"kind": "learned", "offset": 2}, "initialisation": "truncated_normal",
    "normalisation": {"kind": "post_norm", "epsilon": 1e-5},
}  # fmt: skip
MARIAN = {
    **SIZES, "positions": 24, "position": {"kind": "sinusoidal"}, "scaled_embeddings": True, "output_bias": True,
    "feed_forward_activation": "swish", "normalisation": {"kind": "post_norm", "epsilon": 1e-5, "embedding": False},
}  # fmt: skip
ARCHITECTURES = {name: Architecture.model_validate(each) for name, each in (("bart", BART), ("marian", MARIAN))}
LONGEST = 12
CLASSES = {
    "bart": ("BartForConditionalGeneration", "BartConfig", {}),
    "marian": ("MarianMTModel", "MarianConfig", {"activation_function": "relu", "scale_embedding": True}),
}
both = pytest.mark.parametrize("name", ARCHITECTURES)


def ours_of(folder: Path) -> EncoderDecoder:
    start = read_initial_checkpoint(folder)
    found = encoder_with(start.architecture, load_file(start.verify(WEIGHTS)))
    assert isinstance(found, EncoderDecoder)
    return found


def opened(folder: Path, name: str) -> Any:
    return getattr(transformers(), CLASSES[name][0]).from_pretrained(folder).eval()


def sources(size: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    return torch.randint(5, size, (3, 9), generator=generator), torch.arange(9) < torch.tensor([9, 6, 2])[:, None]


@torch.no_grad()
def logits_apart(ours: EncoderDecoder, theirs: Any) -> float:
    tokens, mask = sources(ours.architecture.vocabulary_size)
    target = tokens.flip(1)
    found = ours.target_logits(tokens, mask, target)
    expected = theirs(input_ids=tokens, attention_mask=mask.long(), decoder_input_ids=target).logits
    return distance(found, expected)


def our_tokens(ours: EncoderDecoder, beams: int) -> list[tuple[int, ...]]:
    tokens, mask = sources(ours.architecture.vocabulary_size)
    with torch.inference_mode():
        source = ours.encode(tokens, mask)
    settings = SearchSettings(WORDS.separate, LONGEST, beams, 0.0, (WORDS.pad, WORDS.classify, WORDS.mask))
    search = greedy_search if beams == 1 else beam_search
    found = search(target_decoding(ours, source, beams), torch.full((3, 1), WORDS.classify), settings)
    return [each.tokens for each in found]


def their_tokens(theirs: Any, beams: int) -> list[tuple[int, ...]]:
    tokens, mask = sources(theirs.config.vocab_size)
    settings = {"num_beams": beams, "length_penalty": 0.0} if beams > 1 else {}
    found = theirs.generate(tokens, attention_mask=mask.long(), max_new_tokens=LONGEST, do_sample=False, **settings)
    rows = found[:, 1:].tolist()
    return [tuple(row[: row.index(WORDS.separate)] if WORDS.separate in row else row) for row in rows]


def saved(folder: Path, name: str, *, sharp: bool = False) -> Any:
    """Write a model of transformers as it writes it; a sharp one reads its sources more than the token before."""
    kind, config, changes = CLASSES[name]
    model = getattr(transformers(), kind)(getattr(transformers(), config)(**HF_SIZES, **changes))
    stirred(model, seed=4)
    with torch.no_grad():
        for layer in model.model.decoder.layers if sharp else ():
            layer.encoder_attn.out_proj.weight *= 10
            layer.encoder_attn.q_proj.weight *= 10
    model.save_pretrained(folder)
    WORDS.save(folder)
    (folder / "tokenizer.json").unlink()  # ours, not theirs
    return model.eval()


@both
def test_an_exported_model_generates_the_same_tokens(call: Call, tmp_path: Path, name: str) -> None:
    saved(tmp_path / "folder", name, sharp=True)
    for command, source, out in (("import", "folder", "start"), ("export", "start", "out")):
        answer = call(command, tmp_path / source, tmp_path / out)
        assert (answer.code, answer.out) == (0, ""), answer.err
    ours, theirs = ours_of(tmp_path / "start"), opened(tmp_path / "out", name)
    for beams in (1, 4):
        found = our_tokens(ours, beams)
        assert found == their_tokens(theirs, beams)
        assert len({*found}) == len(found), "the sources must matter"
    tokenizer = transformers().AutoTokenizer.from_pretrained(tmp_path / "out")
    assert {*tokenizer("kernel")} == {"input_ids", "attention_mask"}


@both
def test_an_exported_model_is_imported_bit_for_bit(call: Call, tmp_path: Path, name: str) -> None:
    weights = stirred_start(tmp_path / "start", ARCHITECTURES[name])
    for command, source, out in (
        ("export", "start", "there"),
        ("import", "there", "back"),
        ("export", "back", "again"),
    ):
        answer = call(command, tmp_path / source, tmp_path / out)
        assert answer.code == 0, answer.err
    start = read_initial_checkpoint(tmp_path / "back")
    assert start.architecture == ARCHITECTURES[name]
    found = load_file(start.verify(WEIGHTS))
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[each], value) for each, value in weights.items())
    for file in ("config.json", "generation_config.json", "model.safetensors"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()


@both
def test_a_model_of_transformers_is_imported_and_exported_with_equal_outputs(
    call: Call, tmp_path: Path, name: str
) -> None:
    theirs = saved(tmp_path / "folder", name)
    answer = call("import", tmp_path / "folder", tmp_path / "out")
    assert answer.code == 0, answer.err
    ours = ours_of(tmp_path / "out")
    assert logits_apart(ours, theirs) <= LARGEST_DIFFERENCE
    assert call("export", tmp_path / "out", tmp_path / "again").code == 0
    again = opened(tmp_path / "again", name)
    assert logits_apart(ours, again) <= LARGEST_DIFFERENCE
    with torch.no_grad():
        again.model.decoder.layers[0].encoder_attn.v_proj.weight += 1e-2
    assert logits_apart(ours, again) > LARGEST_DIFFERENCE


def test_a_table_that_is_not_tied_and_a_bias_that_bart_has_not_are_refused(call: Call, tmp_path: Path) -> None:
    saved(tmp_path / "folder", "bart")
    file = tmp_path / "folder" / "model.safetensors"
    tensors = load_file(file)
    table = tensors["model.shared.weight"]
    wrong = {"lm_head.weight": table + 1, "final_logits_bias": torch.ones(1, len(table))}
    save_file({**tensors, **wrong}, file, {"format": "pt"})
    answer = call("import", tmp_path / "folder", tmp_path / "out")
    assert answer.code != 0
    assert "lm_head.weight differs from shared.weight; config.json says that they are tied" in answer.err
    assert "final_logits_bias holds values other than 0, which no BART here has" in answer.err
    assert not (tmp_path / "out").exists()


def test_a_transformer_without_an_output_bias_is_a_marian_whose_bias_is_0(call: Call, tmp_path: Path) -> None:
    stirred_start(tmp_path / "start", ARCHITECTURES["marian"].model_copy(update={"output_bias": False}))
    assert call("export", tmp_path / "start", tmp_path / "out").code == 0
    theirs = opened(tmp_path / "out", "marian")
    assert logits_apart(ours_of(tmp_path / "start"), theirs) <= LARGEST_DIFFERENCE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"position": {"kind": "learned"}}, "position learned has no equivalent"),
        ({"embedding_tying": "none"}, "embedding_tying none has no equivalent"),
        ({"normalisation": {"kind": "pre_norm"}}, "BartModel is post-norm with a norm of the embeddings"),
        ({"key_width": 4}, "key_width 4 has no equivalent"),
        ({"attention_biases": False}, "attention_biases False has no equivalent"),
    ],
)
def test_an_architecture_that_neither_has_is_refused(
    call: Call, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    stirred_start(tmp_path / "start", Architecture.model_validate({**BART, **changes}))
    answer = call("export", tmp_path / "start", tmp_path / "out")
    assert answer.code != 0
    assert reason in answer.err
    assert len(answer.err.splitlines()) == 1
