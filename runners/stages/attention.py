"""Measures the concentration of attention near the diagonal, and the mean attention map of each layer.

ConvBERT, arXiv 2008.02496, Table 8; what the paper leaves open is in `configuration/measurements/attention.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from runners.stages.context import StageContext
from runners.stages.evaluation_set import held_out_sequences
from runners.stages.stage import MeasurementStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.attention import AttentionDiagonal
from steeplechase.foundation.devices import Device
from steeplechase.foundation.schema import Count, JsonValue

if TYPE_CHECKING:
    import numpy as np
    import torch
    from jaxtyping import Bool, Float
    from numpy.typing import NDArray
    from torch import Tensor

MAP_CELLS = 32
"""Maximum rows and columns of a stored map; for longer sequences a cell is a mean over neighbouring positions."""
UNIFORM = 100
"""Value of a cell for uniform attention; cells are integers because the ledger stores them as JSON."""
WEIGHTS_PER_BATCH = 2**24
"""Maximum attention weights of one layer per batch; constant, so that sums are reproducible."""


class AttentionStage(MeasurementStage):
    """Measure the attention of a pretrained encoder on held-out text. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = "attention"
    code_version: ClassVar[int] = 1
    architecture: Architecture
    length: Count
    """Tokens of a sequence, [CLS] and [SEP] included."""
    within: Count
    """Maximum distance in positions of a near pair of query and key."""
    sequences: Count
    device: Device = "cpu"

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return what is measured of a candidate: at the baseline's sequence length, so that arms are compared."""
        measure = experiment.measure.settings(AttentionDiagonal)
        assert measure is not None
        return cls(
            architecture=candidate.architecture,
            length=experiment.baseline.recipe.sequence_length,
            within=measure.within,
            sequences=measure.sequences,
            device=candidate.recipe.device,
        )

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the near and far attention mass of every head and the maps of every layer. Raises DataError."""
        import torch

        from runners.training.pretrained import read_encoder
        from steeplechase.models.attention_maps import visit_attention_maps

        encoder = read_encoder(context.inputs["pretrained"], self.architecture, self.device)
        tokens = held_out_sequences("measure.attention_diagonal.sequences", self.sequences, self.length, context)
        sums = _Sums(self, encoder.device)
        rows = max(1, WEIGHTS_PER_BATCH // (encoder.architecture.attention_shape.heads * self.length**2))
        for first in range(0, len(tokens), rows):
            batch = torch.from_numpy(tokens[first : first + rows]).to(encoder.device)
            visit_attention_maps(encoder, batch, sums.add)
            context.progress("attention", first / len(tokens))
        return sums.document(len(tokens))


class _Sums:
    """Sums over sequences: attention mass by layer, head and mask, and attention maps by layer."""

    def __init__(self, stage: AttentionStage, device: torch.device) -> None:
        import numpy as np

        depth, heads, length = stage.architecture.depth, stage.architecture.attention_shape.heads, stage.length
        self._stage = stage
        self._masks = [mask.to(device) for mask in near_and_far_masks(length, stage.within)]
        self._mass = np.zeros((depth, heads, len(self._masks)))
        self._maps = np.zeros((depth, length, length))

    def add(self, layer: int, weights: Float[Tensor, "batch heads seq seq"]) -> None:
        """Add the attention weights of a batch of sequences."""
        for index, mask in enumerate(self._masks):
            self._mass[layer, :, index] += (weights * mask).sum((0, 2, 3)).double().cpu().numpy()
        self._maps[layer] += weights.mean(1).sum(0).double().cpu().numpy()

    def document(self, sequences: int) -> dict[str, JsonValue]:
        """Return the result of the stage.

        Of each head: layer, head, and four masses as shares of a query's attention: near, far, and both without [CLS]
        and [SEP].
        """
        stage, length = self._stage, self._stage.length
        heads: list[JsonValue] = [
            [layer, head, *(self._mass[layer, head] / (sequences * length)).tolist()]
            for layer in range(self._mass.shape[0])
            for head in range(self._mass.shape[1])
        ]
        maps: list[JsonValue] = [map_cells(each / sequences).tolist() for each in self._maps]
        sizes: dict[str, JsonValue] = {"sequences": sequences, "length": length, "within": stage.within}
        return {**sizes, "heads": heads, "maps": maps}


def near_and_far_masks(length: int, within: int) -> tuple[Bool[Tensor, "seq seq"], ...]:
    """Return masks of the near and the far pairs, then both without the first and the last token."""
    import torch

    positions = torch.arange(length)
    near = (positions[:, None] - positions[None]).abs() <= within
    inside = (positions > 0) & (positions < length - 1)
    text = inside[:, None] & inside[None]
    return near, ~near, near & text, ~near & text


def map_cells(weights: Float[np.ndarray, "seq seq"]) -> NDArray[np.int64]:
    """Return a map of at most 32 x 32 cells: means of the weights, in per cent of uniform attention."""
    import numpy as np

    length = len(weights)
    edges = np.linspace(0, length, min(length, MAP_CELLS) + 1).astype(np.int64)
    sums = np.add.reduceat(np.add.reduceat(weights, edges[:-1], 0), edges[:-1], 1)
    sizes = np.diff(edges)
    cells: NDArray[np.int64] = np.rint(sums / np.outer(sizes, sizes) * length * UNIFORM).astype(np.int64)
    return cells
