"""Writes a Hugging Face folder atomically: config.json, weights, tokenizer and a model card."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file

from commands.huggingface.export_source import Exported
from foundation.atomic_files import atomic_directory, sha256_of
from foundation.schema import JsonValue
from models.huggingface import config
from models.huggingface.weight_names import encoder_pairs, head_pairs, to_transformers, under
from search_space.convolution import SpanDynamic
from tasks.tokenizer import VOCABULARY_FILE, WordPiece
from tasks.vocabulary import SPECIAL_TOKENS, vocabulary_text

CONFIG, MODEL, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer_config.json", "README.md"
PAD = 0  # for models without a vocabulary; trained vocabularies begin with [PAD]


def notes_on(exported: Exported) -> Iterator[str]:
    """Yield notes for users of the folder: differences from the exported model."""
    convolution = exported.architecture.convolution
    if isinstance(convolution, SpanDynamic) and convolution.padding == "masked":
        why = "transformers' ConvBERT lets padding into the convolution and this model does not (padding: masked)"
        yield f"outputs are equal on sequences without padding only: {why}"
    if exported.tokenizer is None:
        yield "no tokenizer files: the model has no vocabulary yet"
    if exported.objective is not None and _class_with_head(exported) is None:
        family = config.FAMILY_NAMES[config.model_type(exported.architecture)]
        head = exported.objective.replace("_", " ")
        yield f"the encoder alone: transformers has no {family} with a head for {head}"


def write(exported: Exported, notes: Sequence[str], out: Path) -> None:
    """Write the folder. Raises ConflictError if it exists, MachineError if it cannot be written."""
    architecture, tokenizer = exported.architecture, exported.tokenizer
    family, head_class = config.model_type(architecture), _class_with_head(exported)
    pairs = encoder_pairs(architecture)
    if head_class is not None and exported.objective is not None:
        pairs = (*under(family, pairs), *head_pairs(exported.objective))
    class_name = head_class or config.BARE_CLASSES[family]
    pad = PAD if tokenizer is None else tokenizer.pad
    with atomic_directory(out, (SafetensorError,)) as folder:
        save_file(to_transformers(exported.weights, pairs), folder / MODEL, {"format": "pt"})
        _write_json(folder / CONFIG, config.written(architecture, class_name, exported.dropout, pad))
        if tokenizer is not None:
            _write_tokenizer(folder, tokenizer, architecture.positions)
        (folder / MODEL).chmod(
            (folder / CONFIG).stat().st_mode
        )  # safetensors creates files readable by the owner only
        (folder / CARD).write_text(_card(exported, class_name, notes, sha256_of(folder / MODEL)), encoding="utf-8")


def _class_with_head(exported: Exported) -> str | None:
    """Return the class of transformers with the model's pretraining head, None without such a head or class."""
    objective = exported.objective
    return None if objective is None else config.CLASSES.get((config.model_type(exported.architecture), objective))


def _write_tokenizer(folder: Path, tokenizer: WordPiece, positions: int) -> None:
    """Write the files of BertTokenizer; "[MASK]" in a text is not a special token, as in training."""
    text = vocabulary_text(tokenizer.pieces)
    (folder / VOCABULARY_FILE).write_text(text, encoding="utf-8", newline="\n")
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    _write_json(
        folder / TOKENIZER,
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": None,
            "tokenize_chinese_chars": True,
            "split_special_tokens": True,
            "model_max_length": positions,
            **dict(zip(names, SPECIAL_TOKENS, strict=True)),
        },
    )


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
        differences.append(
            "- The tokenizer takes text as text: `[MASK]` in a text is six characters. To write masks into a text, "
            "open it with `AutoTokenizer.from_pretrained(..., split_special_tokens=False)`."
        )
    return "\n".join([*opening, *table, *(["## What to know", "", *differences, ""] if differences else [])])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
