"""transformers' BERT, ALBERT, ModernBERT with heads of masked language modelling, and a span boundary head in torch.

Read in transformers 5.23, models/bert, models/albert and models/modernbert. Their loss takes logits at every
position, of which those that are not predicted have the label -100. transformers has no SpanBERT: its head is
written after arXiv 1907.10529, section 3.2, as dense maps over the boundaries of the predicted tokens.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.objective import SpanBoundary
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.models.huggingface.families import FAMILIES
from steeplechase.models.huggingface.families.family import Modules, weights_and_biases
from steeplechase.models.huggingface.weight_names import from_transformers
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryBatch
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

IGNORED = -100
HEADS: dict[str, Modules] = {
    "bert": (
        ("head.transform", "cls.predictions.transform.dense"),
        ("head.norm", "cls.predictions.transform.LayerNorm"),
    ),
    "albert": (("head.transform", "predictions.dense"), ("head.norm", "predictions.LayerNorm")),
    "modernbert": (("head.transform", "head.dense"), ("head.norm", "head.norm")),
}
BIAS = {"bert": "cls.predictions.bias", "albert": "predictions.bias", "modernbert": "decoder.bias"}
OWN: dict[str, dict[str, Any]] = {
    "modernbert": {"classifier_bias": True, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}
}
"""Keys that give a head the biases of ours, and tokens of the vocabulary."""


class MaskedLanguageModel(nn.Module):
    """transformers' model of a family (`bert`, `albert` or `modernbert`) without dropout."""

    def __init__(self, family: str, architecture: Architecture) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModelForMaskedLM

        own = FAMILIES[family]
        settings: dict[str, Any] = dict.fromkeys(own.dropouts, 0.0) | OWN.get(family, {})
        settings |= {key: getattr(architecture, name) for name, key in own.sizes.items()}
        settings |= own.keys(architecture)
        self.family, self.architecture = family, architecture
        config = AutoConfig.for_model(family, **settings)
        self.model: Any = AutoModelForMaskedLM.from_config(config)

    def loss(self, batch: MaskedBatch) -> Tensor:
        """Return the mean cross-entropy in nats of the predicted tokens."""
        return self._outputs(batch).loss  # type: ignore[no-any-return]

    @torch.no_grad()
    def copy_to(self, ours: PretrainingModel[Any]) -> None:
        """Copy the weights into our model; torch raises if one of the encoder has no counterpart."""
        named = {name: value.detach() for name, value in self.model.named_parameters(remove_duplicate=False)}
        family = FAMILIES[self.family]
        body = {name.removeprefix(f"{family.prefix}."): value for name, value in named.items()}
        ours.encoder.load_state_dict(from_transformers(body, family.encoder_pairs(self.architecture)), strict=True)
        pairs = [pair for pair in weights_and_biases(HEADS[self.family]) if pair.transformers_name in named]
        heads = from_transformers(named, tuple(pairs))
        for name, value in {**heads, "head.words.bias": named[BIAS[self.family]]}.items():
            ours.get_parameter(name).copy_(value)

    def _outputs(self, batch: MaskedBatch, **options: Any) -> Any:
        labels = np.full(batch.inputs.shape, IGNORED, np.int64)
        targets = np.where(batch.targets == NOT_PREDICTED, IGNORED, batch.targets)
        np.put_along_axis(labels, batch.masked_positions, targets, axis=1)
        inputs = torch.from_numpy(batch.inputs.astype(np.int64))
        return self.model(input_ids=inputs, labels=torch.from_numpy(labels), **options)


class SpanBert(MaskedLanguageModel):
    """transformers' BERT, and a span boundary head on its last vectors."""

    def __init__(self, architecture: Architecture, objective: SpanBoundary) -> None:
        super().__init__("bert", architecture)
        width = architecture.width
        self.positions = nn.Embedding(objective.span_positions, objective.position_width)
        self.inner, self.inner_norm = nn.Linear(2 * width + objective.position_width, width), nn.LayerNorm(width)
        self.transform, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(architecture.vocabulary_size))

    def loss(self, batch: MaskedBatch) -> Tensor:
        """Return the sum of both mean cross-entropies in nats."""
        assert isinstance(batch, AuxiliaryBatch)
        (boundaries,) = batch.auxiliary
        outputs = self._outputs(batch, output_hidden_states=True)
        rows, columns = np.nonzero(boundaries.offsets != NONE)
        hidden = outputs.hidden_states[-1]
        left, right = (hidden[rows, side[rows, columns]] for side in (boundaries.left, boundaries.right))
        offsets = torch.from_numpy(boundaries.offsets[rows, columns])
        x = torch.cat([left, right, self.positions(offsets)], -1)
        x = self.inner_norm(nn.functional.gelu(self.inner(x)))
        x = self.norm(nn.functional.gelu(self.transform(x)))
        logits = x @ self.model.get_input_embeddings().weight.T + self.bias
        boundary = cross_entropy(logits, torch.from_numpy(batch.targets[rows, columns]))
        return boundary + outputs.loss  # type: ignore[no-any-return]

    @torch.no_grad()
    def copy_to(self, ours: PretrainingModel[Any]) -> None:
        """Copy the weights of BERT and of the boundary head into our model."""
        super().copy_to(ours)
        names = ("positions", "inner", "inner_norm", "transform", "norm")
        for module in names:
            for name, value in self.get_submodule(module).named_parameters():
                ours.get_parameter(f"boundary_head.{module}.{name}").copy_(value)
        ours.get_parameter("boundary_head.words.bias").copy_(self.bias)
