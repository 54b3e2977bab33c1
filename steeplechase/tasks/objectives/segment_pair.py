"""The loss that the objectives on pairs of segments share: the class of each pair."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.objective.segment_pair import SegmentPair
from search_space.packing.sequences import UNDEFINED, PairSequences
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.models.heads.logit import SegmentPairHead
from steeplechase.models.precision import to_float32
from steeplechase.tasks.masking import Rows
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLoss, MaskedSequences
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel


@dataclass(frozen=True)
class Relations(Rows):
    """The relation of both segments of every pair."""

    labels: NDArray[np.int64]
    """A number of the objective's `relations`, or UNDEFINED [batch]."""


@dataclass(frozen=True)
class RelationTensors:
    """The relations of pairs on the device."""

    varying: ClassVar[tuple[str, ...]] = ("rows", "labels")
    rows: Int[Tensor, " defined"]
    """The numbers of the pairs whose relation is defined."""
    labels: Int[Tensor, " defined"]


class SegmentPairLoss(AuxiliaryLoss[SegmentPair, Relations]):
    """Cross-entropy of the relation of two segments, by a pooler and an output layer on [CLS]."""

    head: SegmentPairHead
    head_name = "pair_head"

    def __init__(self, declared: SegmentPair, architecture: Architecture) -> None:
        super().__init__(declared, architecture)
        self.head = SegmentPairHead(architecture, len(declared.relations))

    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, Relations]:
        """Return the inputs as they are, and the labels of the pairs."""
        assert isinstance(source.sequences, PairSequences)
        return source.masked.inputs, Relations(source.sequences.labels)

    def predictions(self, targets: Relations) -> int:
        """Return the number of pairs whose relation is defined."""
        return int((targets.labels != UNDEFINED).sum())

    def device_targets(self, model: MaskedTokenModel[Any], targets: Relations) -> RelationTensors:
        """Return the relations that are defined, on the device."""
        defined = np.flatnonzero(targets.labels != UNDEFINED)
        return RelationTensors(model.tensor(defined), model.tensor(targets.labels[defined]))

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: RelationTensors
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of the pairs whose relation is defined; 0 without any."""
        logits: Tensor = self.head(hidden)
        if not len(targets.rows):
            return logits.sum() * 0.0
        return cross_entropy(to_float32(logits)[targets.rows], targets.labels)
