"""Writes a Hugging Face folder atomically: config.json, weights, tokenizer and a model card."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file

from search_space.convolution import SpanDynamic
from steeplechase.commands.huggingface.export_source import Exported
from steeplechase.foundation.atomic_files import atomic_directory, sha256_of
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface import config
from steeplechase.models.huggingface.families import nearest
from steeplechase.models.huggingface.weight_names import encoder_pairs, head_pairs, to_transformers, under
from steeplechase.tasks.tokenizer import SETTINGS_FILE, VOCABULARY_FILE, Tokenizer, WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, vocabulary_text

GENERATION = "generation_config.json"
CONFIG, MODEL, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer_config.json", "README.md"


def notes_on(exported: Exported) -> Iterator[str]:
    """Yield notes for users of the folder: differences from the exported model."""
    convolution = exported.architecture.convolution
    if isinstance(convolution, SpanDynamic) and convolution.padding == "masked":
        why = "transformers' ConvBERT lets padding into the convolution and this model does not (padding: masked)"
        yield f"outputs are equal on sequences without padding only: {why}"
    if exported.tokenizer is None:
        yield "no tokenizer files: the model has no vocabulary yet"
    if exported.objective is not None and _class_with_head(exported) is None:
        family, head = nearest(exported.architecture), exported.objective.replace("_", " ")
        if family.classes:
            yield f"the encoder alone: transformers has no {family.title} with a head for {head}"
        else:
            yield f"the encoder alone: heads for {head} are not exported to {family.title}"


def write(exported: Exported, notes: Sequence[str], out: Path) -> None:
    """Write the folder. Raises ConflictError if it exists, MachineError if it cannot be written."""
    architecture, tokenizer = exported.architecture, exported.tokenizer
    family, head_class = nearest(architecture), _class_with_head(exported)
    pairs = encoder_pairs(architecture)
    if head_class is not None:
        head = () if exported.objective is None else head_pairs(exported.objective)
        pairs = (*under(family.prefix, pairs), *head)
    class_name = head_class or family.bare_class
    pad = family.pad(architecture) if tokenizer is None else tokenizer.pad
    with atomic_directory(out, (SafetensorError,)) as folder:
        save_file(to_transformers(exported.weights, pairs), folder / MODEL, {"format": "pt"})
        written = config.written(architecture, class_name, exported.dropout, pad)
        if family.generates:
            tokens = _target_tokens(tokenizer)
            written |= {name: tokens[name] for name in ("bos_token_id", "eos_token_id", "decoder_start_token_id")}
            _write_json(folder / GENERATION, tokens)
        _write_json(folder / CONFIG, written)
        if tokenizer is not None:
            _write_tokenizer(folder, tokenizer, architecture.longest_sequence or architecture.positions)
            if family.generates:
                _without_segments(folder)
        (folder / MODEL).chmod(
            (folder / CONFIG).stat().st_mode
        )  # safetensors creates files readable by the owner only
        (folder / CARD).write_text(_card(exported, class_name, notes, sha256_of(folder / MODEL)), encoding="utf-8")


def _class_with_head(exported: Exported) -> str | None:
    """Return the class of transformers with the model's pretraining head, None without such a head or class."""
    return nearest(exported.architecture).head_class(exported.objective)


def _target_tokens(tokenizer: Tokenizer | None) -> dict[str, JsonValue]:
    """Return the tokens that begin and end a target, and those that no search writes, here as there."""
    pieces = SPECIAL_TOKENS if tokenizer is None else tokenizer.special_pieces
    numbers = range(len(pieces)) if tokenizer is None else map(tokenizer.pieces.index, pieces)
    pad, _, start, end, mask = numbers
    return {
        "bos_token_id": start,
        "decoder_start_token_id": start,
        "eos_token_id": end,
        "forced_eos_token_id": None,
        "pad_token_id": pad,
        "suppress_tokens": [pad, start, mask],
    }


def _without_segments(folder: Path) -> None:
    """Leave token types out of what the tokenizer returns, which no model with a decoder takes."""
    written = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
    _write_json(folder / TOKENIZER, {**written, "model_input_names": ["input_ids", "attention_mask"]})


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, longest: int) -> None:
    """Write the tokenizer's files; "[MASK]" in a text is the mask token, as users of transformers write it."""
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    _write_json(
        folder / TOKENIZER,
        {
            **_tokenizer_class(folder, tokenizer),
            "split_special_tokens": False,
            "model_max_length": longest,
            **dict(zip(names, tokenizer.special_pieces, strict=True)),
        },
    )


def _tokenizer_class(folder: Path, tokenizer: Tokenizer) -> dict[str, JsonValue]:
    """Write the vocabulary, for WordPiece as BERT does, else as the library; return the class that reads it."""
    if not isinstance(tokenizer, WordPiece):
        (folder / SETTINGS_FILE).write_text(tokenizer.library_document(), encoding="utf-8", newline="\n")
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        }
    text = vocabulary_text(tokenizer.pieces)
    (folder / VOCABULARY_FILE).write_text(text, encoding="utf-8", newline="\n")
    bert: dict[str, JsonValue] = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokenizer.lowercase}
    return {**bert, "strip_accents": None, "tokenize_chinese_chars": True}


def _write_json(path: Path, document: Mapping[str, JsonValue]) -> None:
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _card(exported: Exported, class_name: str, notes: Sequence[str], weights_hash: str) -> str:
    architecture = exported.architecture
    facts = {**exported.provenance, f"{MODEL} sha256": weights_hash}
    facts |= {"encoder parameters": f"{architecture.parameters:,}"}
    opening = ["---", "library_name: transformers", "---", "", f"# {exported.title}", ""]
    opening += [f"{class_name}, exported by Steeplechase. `AutoModel.from_pretrained` on this folder opens it.", ""]
    table = ["| | |", "|---|---|", *(f"| {name} | {_cell(value)} |" for name, value in facts.items()), ""]
    differences = [f"- {note[0].upper()}{note[1:]}." for note in notes]
    if exported.tokenizer is not None:
        mask = exported.tokenizer.special_pieces[-1]
        differences.append(
            f"- `{mask}` in a text is the mask token. In pretraining, special tokens in a text were text; "
            "`AutoTokenizer.from_pretrained(..., split_special_tokens=True)` reads them so."
        )
    return "\n".join([*opening, *table, *(["## What to know", "", *differences, ""] if differences else [])])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
