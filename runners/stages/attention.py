"""Measures how close to the diagonal a pretrained encoder attends, and its mean attention map per layer.

ConvBERT, arXiv 2008.02496, Table 8; `configuration.measurements` documents what its text leaves open.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from foundation.errors import DataError
from foundation.schema import JsonValue
from models.attention_maps import visit_attention_maps
from models.devices import open_device
from models.encoder import Encoder
from runners.stages.context import StageContext
from runners.stages.declarations import AttentionStage
from runners.stages.pretrain import CHECKPOINT
from runners.training.checkpoint import load_weights
from tasks.batches import Batches
from tasks.tokenizer import load_tokenizer
from tasks.tokens import read_tokens

MAP_CELLS = 32
"""Rows and columns of a stored map: for longer sequences a cell is the mean over neighbours."""
UNIFORM = 100
"""Value of a cell for uniform attention; cells are integers to keep the ledger small."""
WEIGHTS_AT_A_TIME = 2**24
"""Bound on one layer's maps per batch, a function of the sizes alone, so that sums are reproducible."""


def compute(stage: AttentionStage, context: StageContext) -> dict[str, JsonValue]:
    """Return the near and far mass of every head, with and without [CLS] and [SEP], and the maps."""
    encoder = Encoder(stage.architecture, 0.0)
    load_weights(context.inputs["pretrained"] / CHECKPOINT, encoder, "encoder.")
    encoder = encoder.to(open_device(stage.device)).eval()
    tokens = _held_out(stage, context)
    sums = _Sums(stage, encoder.device)
    rows = max(1, WEIGHTS_AT_A_TIME // (stage.architecture.attention_shape.heads * stage.length**2))
    for first in range(0, len(tokens), rows):
        visit_attention_maps(encoder, torch.from_numpy(tokens[first : first + rows]).to(encoder.device), sums.add)
        context.progress("attention", first / len(tokens))
    return sums.document(len(tokens))


def _held_out(stage: AttentionStage, context: StageContext) -> NDArray[np.int64]:
    """Return the sequences [sequences length]; raises DataError if the split has fewer."""
    source = context.inputs["tokens"]
    batches = Batches(read_tokens(source / "validation.npy"), load_tokenizer(source), stage.length)
    if batches.sequences < stage.sequences:
        message = f"the validation split gives {batches.sequences} sequences; {stage.sequences} are needed"
        raise DataError(f"{message} (measure.attention_diagonal.sequences)")
    return batches.sequence(np.linspace(0, batches.sequences - 1, stage.sequences).astype(np.int64))


class _Sums:
    """Mass by layer and head, and the sum of the maps by layer."""

    def __init__(self, stage: AttentionStage, device: torch.device) -> None:
        depth, heads, length = stage.architecture.depth, stage.architecture.attention_shape.heads, stage.length
        self._stage = stage
        self._parts = [mask.to(device) for mask in near_and_far(length, stage.within)]
        self._mass = np.zeros((depth, heads, len(self._parts)))
        self._maps = np.zeros((depth, length, length))

    def add(self, layer: int, weights: Float[Tensor, "batch heads seq seq"]) -> None:
        for place, part in enumerate(self._parts):
            self._mass[layer, :, place] += (weights * part).sum((0, 2, 3)).double().cpu().numpy()
        self._maps[layer] += weights.mean(1).sum(0).double().cpu().numpy()

    def document(self, sequences: int) -> dict[str, JsonValue]:
        """Return masses as shares of a query's attention; the four of a head: near, far, and both without marks."""
        stage, length = self._stage, self._stage.length
        heads: list[JsonValue] = [
            [layer, head, *(self._mass[layer, head] / (sequences * length)).tolist()]
            for layer in range(self._mass.shape[0])
            for head in range(self._mass.shape[1])
        ]
        maps: list[JsonValue] = [cells(each / sequences).tolist() for each in self._maps]
        sizes: dict[str, JsonValue] = {"sequences": sequences, "length": length, "within": stage.within}
        return {**sizes, "heads": heads, "maps": maps}


def near_and_far(length: int, within: int) -> tuple[Bool[Tensor, "seq seq"], ...]:
    """Return masks of the near and the far pairs, then the same without the first and the last token."""
    places = torch.arange(length)
    near = (places[:, None] - places[None]).abs() <= within
    inside = (places > 0) & (places < length - 1)
    text = inside[:, None] & inside[None]
    return near, ~near, near & text, ~near & text


def cells(weights: Float[np.ndarray, "seq seq"]) -> NDArray[np.int64]:
    """Return a map of at most 32 x 32 cells, each a mean in hundredths of uniform attention."""
    length = len(weights)
    edges = np.linspace(0, length, min(length, MAP_CELLS) + 1).astype(np.int64)
    sums = np.add.reduceat(np.add.reduceat(weights, edges[:-1], 0), edges[:-1], 1)
    sizes = np.diff(edges)
    even = np.rint(sums / np.outer(sizes, sizes) * length * UNIFORM)
    whole: NDArray[np.int64] = even.astype(np.int64)
    return whole
