"""A full training step of a GPT and of a BART against transformers' own models.

Our side is the training loop itself; theirs is the loss of the class as it is released (transformers 5.23,
models/openai and models/bart), with clipping and AdamW. Batches, corruptions and weights are the same.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cases.encoder import scatter
from benchmarks.measuring import FULL_SIZE, Figure, Pace, Row, Size
from benchmarks.training_step import Match, agree, measure_step, training_data
from search_space.architecture import Architecture
from search_space.objective import Denoising, LanguageModel, Objective
from search_space.output_layer import EmbeddingTable
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.models.huggingface.families import BART, GPT, Family
from steeplechase.models.huggingface.weight_names import from_transformers
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.denoising import DenoisingBatch
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

REACH = 1.2
HEADS, FEED_FORWARD_RATIO, POSITION_OFFSET = 4, 4, 2
IGNORED = -100


class Peer(nn.Module):
    """A class of transformers without dropout."""

    family: Family

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        from transformers import AutoConfig

        settings: dict[str, Any] = dict.fromkeys(("activation_dropout", *self.family.dropouts), 0.0)
        known = {name: key for name, key in self.family.sizes.items() if hasattr(architecture, name)}
        settings |= {key: getattr(architecture, name) for name, key in known.items()}
        settings |= self.family.keys(architecture)
        self.architecture = architecture
        self.model: Any = self.built(AutoConfig.for_model(self.family.model_type, **settings))

    @abstractmethod
    def built(self, config: Any) -> Any:
        """Return the class of a configuration."""

    @torch.no_grad()
    def copy_to(self, ours: PretrainingModel[Any]) -> None:
        """Copy the weights into our model, whose every parameter has a counterpart."""
        prefix = f"{self.family.prefix}."
        named = {name.removeprefix(prefix): value.detach() for name, value in self.model.named_parameters()}
        weights = from_transformers(named, self.family.encoder_pairs(self.architecture))
        own = dict(ours.encoder.named_parameters())
        assert own.keys() == weights.keys()
        for name, value in weights.items():
            own[name].copy_(value)


class Gpt(Peer):
    """OpenAIGPTLMHeadModel."""

    family = GPT

    def built(self, config: Any) -> Any:
        """Return the class of a configuration."""
        from transformers import OpenAIGPTLMHeadModel

        return OpenAIGPTLMHeadModel(config)

    def loss(self, batch: MaskedBatch) -> Tensor:
        """Return the mean cross-entropy in nats of every token but the first and the last, which are special."""
        inputs = torch.from_numpy(batch.inputs)
        labels = inputs.clone()
        labels[:, -1] = IGNORED
        return self.model(input_ids=inputs, labels=labels).loss  # type: ignore[no-any-return]


class BartPeer(Peer):
    """BartForConditionalGeneration."""

    family = BART

    def built(self, config: Any) -> Any:
        """Return the class of a configuration."""
        from transformers import BartForConditionalGeneration

        return BartForConditionalGeneration(config)

    def loss(self, batch: DenoisingBatch) -> Tensor:
        """Return the mean cross-entropy in nats of the targets."""
        targets = torch.from_numpy(batch.targets)
        return self.model(  # type: ignore[no-any-return]
            input_ids=torch.from_numpy(batch.source),
            attention_mask=None if batch.real.all() else torch.from_numpy(batch.real).long(),
            decoder_input_ids=torch.from_numpy(batch.inputs),
            labels=targets.masked_fill(targets == NOT_PREDICTED, IGNORED),
        ).loss


PEERS: dict[str, type[Peer]] = {"GPT": Gpt, "BART": BartPeer}


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per system, in float32."""
    for system in PEERS:
        stacks = f"{size.depth} layers" if system == "GPT" else f"{size.depth}+{size.depth} layers"
        name = f"{system} step, h={size.widths[0]}, {stacks}, B{size.batch} T{size.length}"
        peer = "OpenAIGPTLMHeadModel" if system == "GPT" else "BartForConditionalGeneration"
        yield Row(name, f"transformers' {peer}, float32", REACH, lambda pace, s=system: _measure(size, s, pace))  # type: ignore[misc]


def match(size: Size, system: str) -> Match:
    """Build both sides with the same random weights."""
    architecture, objective = _declared(size, system)
    data = training_data(architecture, objective, size)
    ours, theirs = build_model(data.candidate, None, 1), PEERS[system](architecture)
    with torch.no_grad():
        scatter(theirs)
        for norm in (module for module in theirs.modules() if isinstance(module, torch.nn.LayerNorm)):
            norm.weight.add_(1)  # gains whose names the scattering does not know
    theirs.copy_to(ours)
    return Match(data, ours.train(), theirs.train(), architecture)


def _declared(size: Size, system: str) -> tuple[Architecture, Objective]:
    width = size.widths[0]
    sizes = {
        "depth": size.depth,
        "width": width,
        "embedding_width": width,
        "heads": HEADS,
        "feed_forward_width": FEED_FORWARD_RATIO * width,
        "vocabulary_size": size.vocabularies[0],
    }
    if system == "GPT":
        norm = {"kind": "post_norm", "embedding": False, "epsilon": 1e-5}
        own = {"segments": 0, "visibility": "left_to_right", "feed_forward_activation": "gelu_tanh"}
        gpt = Architecture.model_validate({**sizes, **own, "normalisation": norm, "positions": size.length})
        return gpt, LanguageModel(output_layer=EmbeddingTable())
    own_of_bart = {
        "kind": "encoder_decoder",
        "decoder_depth": size.depth,
        "positions": size.length + POSITION_OFFSET,
        "position": {"kind": "learned", "offset": POSITION_OFFSET},
        "normalisation": {"kind": "post_norm", "epsilon": 1e-5},
    }
    return Architecture.model_validate({**sizes, **own_of_bart}), Denoising()


def _measure(size: Size, system: str, pace: Pace) -> Figure:
    built = match(size, system)
    agree(built)
    return measure_step(built, pace, torch.float32)
