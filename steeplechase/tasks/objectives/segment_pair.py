"""The loss that the objectives on pairs of segments share: the class of each pair."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
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

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: Relations
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of the pairs whose relation is defined; 0 without any."""
        logits: Tensor = self.head(hidden)
        defined = np.flatnonzero(targets.labels != UNDEFINED)
        if not len(defined):
            return logits.sum() * 0.0
        labels, rows = model.tensor(targets.labels[defined]), model.tensor(defined)
        return cross_entropy(to_float32(logits)[rows], labels)
