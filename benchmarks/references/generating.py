"""transformers' GPT and BART with their losses. Read in transformers 5.23, models/openai and models/bart."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.models.huggingface.families import BART, GPT, Family
from steeplechase.models.huggingface.weight_names import from_transformers
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.denoising import DenoisingBatch
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

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
