"""Exports a trial, an imported checkpoint or an untrained declaration as a folder that transformers loads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from runners.training.checkpoint import WEIGHTS, read_weights
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from search_space.objective import LanguageModel, MaskedLanguageModel, Objective, PermutationLanguageModel
from search_space.output_layer import EmbeddingTable, Transformed
from search_space.recipe import Recipe
from search_space.summary import Subject
from steeplechase.configuration.initial_checkpoint import WEIGHTS as START_WEIGHTS
from steeplechase.configuration.initial_checkpoint import read_initial_checkpoint
from steeplechase.foundation.atomic_files import atomic_directory, sha256_of
from steeplechase.foundation.errors import ConfigurationError, damage_refused
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.checkpoints import pretrained_trial
from steeplechase.ledger.paths import CHECKPOINT
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.huggingface import config
from steeplechase.models.huggingface.families import nearest
from steeplechase.models.huggingface.weight_names import encoder_pairs, head_pairs, to_transformers, under
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.tokenizer import SETTINGS_FILE, VOCABULARY_FILE, Tokenizer, WordPiece, load_tokenizer
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS, vocabulary_text

ENCODER = "encoder"
OF_GENERATOR = ("generator.", "generator_head.", "generator_training.")


@dataclass(frozen=True)
class Exported:
    """A model with its weights and provenance."""

    title: str
    architecture: Architecture
    dropout: float
    weights: Mapping[str, Tensor]
    """The encoder's weights by name; those of a pretraining head prefixed by `head.` or `judge.`."""
    provenance: Mapping[str, str]
    """Provenance: source, training and hashes."""
    tokenizer: Tokenizer | None = None
    objective: str | None = None
    """Objective of the pretraining head among the weights, None without a head."""


def from_trial(folder: Path, trial: str | None, objects: str = "") -> Exported:
    """Return a trial with finished pretraining, with its head and its vocabulary.

    `objects` is the URL of the object store of its stages, if it may be contacted.
    """
    pretrained = pretrained_trial(folder, trial, objects)
    file = pretrained.stage / CHECKPOINT / WEIGHTS
    saved = read_weights(file)
    kept = {name: value for name, value in saved.items() if not name.startswith(OF_GENERATOR)}
    weights = {name.removeprefix(f"{ENCODER}."): value for name, value in kept.items()}
    tokenizer = load_tokenizer(pretrained.tokens)
    arm, _, seed = pretrained.trial.rpartition("/")
    provenance = {
        "experiment": f"{pretrained.experiment} at scale {pretrained.scale}",
        "arm": arm,
        "pretraining seed": seed,
        "objective": pretrained.candidate.objective.kind,
        "tokens seen": f"{pretrained.result.tokens:,}",
        "held-out loss": f"{pretrained.result.held_out_loss} nats",
        "checkpoint sha256": sha256_of(file),
        "vocabulary sha256": tokenizer.vocabulary_hash,
    }
    refuse_module(pretrained.candidate.architecture, pretrained.trial)
    title, candidate = f"{pretrained.experiment}: {pretrained.trial}", pretrained.candidate
    dropout = candidate.recipe.dropout
    return Exported(
        title, candidate.architecture, dropout, weights, provenance, tokenizer, _head(candidate.objective)
    )


def from_start(folder: Path) -> Exported:
    """Return a folder written by `steeplechase import`, with its vocabulary if it has one."""
    start = read_initial_checkpoint(folder)
    tokenizer = None if start.vocabulary is None else load_tokenizer(folder)
    weights = read_weights(start.verify(START_WEIGHTS))
    provenance = {"imported from": f"a {start.provenance.model_type} folder", "weights sha256": start.weights_hash}
    provenance |= {f"source {name} sha256": pretrained for name, pretrained in start.provenance.sources.items()}
    return Exported(folder.name, start.architecture, Recipe().dropout, weights, provenance, tokenizer)


def from_declaration(subject: Subject, seed: int) -> Exported:
    """Return an untrained model, initialised like a pretraining with the same seed."""
    refuse_module(subject.architecture, subject.name)
    encoder = build_encoder(subject.architecture, subject.dropout)
    initialise(
        nn.ModuleDict({ENCODER: encoder}), seed
    )  # the random stream of a module is seeded by its name in the whole model
    weights = {name: value.detach() for name, value in encoder.named_parameters()}
    provenance = {"trained": "not at all", "initialised from seed": str(seed)}
    return Exported(subject.name, subject.architecture, subject.dropout, weights, provenance)


def _head(objective: Objective) -> str:
    """Return the objective, and its output layer where transformers does not have it."""
    if isinstance(objective, LanguageModel | PermutationLanguageModel):
        layer, has_biases = objective.output_layer, isinstance(objective, PermutationLanguageModel)
        if not isinstance(layer, EmbeddingTable):
            return f"{objective.kind} ({layer.kind})"
        if layer.biases != has_biases:
            return f"{objective.kind} ({layer.kind} {'with' if layer.biases else 'without'} biases)"
    if isinstance(objective, MaskedLanguageModel) and not isinstance(objective.output_layer, Transformed):
        return f"{objective.kind} ({objective.output_layer.kind})"
    return objective.kind


def refuse_module(architecture: Architecture, name: str) -> None:
    """Raise ConfigurationError for an architecture that is any module: it has no form in transformers."""
    if architecture.is_counted:
        raise ConfigurationError(f"{name}: its architecture is of kind module, which its own library can save")


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
    """Write the folder.

    Raises ConflictError if it exists, MachineError if it cannot be written, CorruptionError if the weights are not
    those of the architecture.
    """
    architecture, tokenizer = exported.architecture, exported.tokenizer
    family, head_class = nearest(architecture), _class_with_head(exported)
    pairs = encoder_pairs(architecture)
    if head_class is not None:
        head = () if exported.objective is None else head_pairs(exported.objective)
        pairs = (*under(family.prefix, pairs), *head)
    class_name = head_class or family.bare_class
    pad = family.pad(architecture) if tokenizer is None else tokenizer.pad
    with damage_refused(f"{exported.title}: its weights are not those of its architecture", (RuntimeError,)):
        weights = to_transformers(exported.weights, pairs)
    with atomic_directory(out, (SafetensorError,)) as folder:
        save_file(weights, folder / MODEL, {"format": "pt"})
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
    bar = "\\|"
    table = ["| | |", "|---|---|", *(f"| {name} | {value.replace('|', bar)} |" for name, value in facts.items()), ""]
    differences = [f"- {note[0].upper()}{note[1:]}." for note in notes]
    if exported.tokenizer is not None:
        mask = exported.tokenizer.special_pieces[-1]
        differences.append(
            f"- `{mask}` in a text is the mask token. In pretraining, special tokens in a text were text; "
            "`AutoTokenizer.from_pretrained(..., split_special_tokens=True)` reads them so."
        )
    return "\n".join([*opening, *table, *(["## What to know", "", *differences, ""] if differences else [])])
