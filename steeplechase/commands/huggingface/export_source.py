"""Sources of `steeplechase export`: a trial, an imported checkpoint, or an untrained declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn

from runners.training.checkpoint import WEIGHTS
from search_space.architecture import Architecture
from search_space.objective import LanguageModel, Objective, PermutationLanguageModel
from search_space.output_layer import EmbeddingTable
from search_space.recipe import Recipe
from search_space.summary import Subject
from steeplechase.configuration.initial_checkpoint import WEIGHTS as START_WEIGHTS
from steeplechase.configuration.initial_checkpoint import read_initial_checkpoint
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.ledger.checkpoints import pretrained_trial
from steeplechase.ledger.result_files import CHECKPOINT
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

ENCODER = "encoder"


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
    saved = load_file(file)
    weights = {name.removeprefix(f"{ENCODER}."): value for name, value in saved.items() if not _of_generator(name)}
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
    weights = load_file(start.verify(START_WEIGHTS))
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
    """Return the objective, and its output layer where that is a choice whose embeddings alone transformers has."""
    if isinstance(objective, LanguageModel | PermutationLanguageModel):
        layer, has_biases = objective.output_layer, isinstance(objective, PermutationLanguageModel)
        if not isinstance(layer, EmbeddingTable):
            return f"{objective.kind} ({layer.kind})"
        if layer.biases != has_biases:
            return f"{objective.kind} ({layer.kind} {'with' if layer.biases else 'without'} biases)"
    return objective.kind


def refuse_module(architecture: Architecture, name: str) -> None:
    """Raise ConfigurationError for an architecture that is any module: it has no form in transformers."""
    if architecture.is_counted:
        raise ConfigurationError(f"{name}: its architecture is of kind module, which its own library can save")


def _of_generator(name: str) -> bool:
    return name.startswith(("generator.", "generator_head.", "generator_training."))
