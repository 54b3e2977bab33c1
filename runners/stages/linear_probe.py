"""Fits a linear classifier of words on each layer of a frozen encoder. Tenney et al. 2019, arXiv 1905.06316.

A multinomial logistic regression on the standardised vector of each word's first subword, with the penalty that
scikit-learn has by default. It is convex and starts at zero, so nothing is drawn. The last layer is what is scored,
as it is what fine-tuning reads; the other layers are reported beside it.
"""

import json
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from foundation.errors import DataError
from foundation.schema import JsonValue
from ledger.result_files import layers_file, other_parts, predictions_file
from models.devices import open_device
from models.encoder import Encoder
from runners.stages.context import Diverged, StageContext
from runners.stages.declarations import LinearProbeStage
from runners.stages.pretrain import CHECKPOINT
from runners.training.checkpoint import load_weights
from tasks.downstream import find_task
from tasks.labelled.words import NO_POSITION, EncodedWords, load_words

PENALTY = 1.0  # of the squared weights, against the summed loss; scikit-learn's C is its inverse
MOST_ITERATIONS = 200
SENTENCES_PER_BATCH = 64
SMALLEST_SPREAD = 1e-6  # a feature that is constant stays so


def compute(stage: LinearProbeStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the predicted tag of every word, by the last layer, and by every layer on dev. Raises Diverged."""
    folder, outputs = context.inputs["examples"], len(find_task(stage.task).labels)
    encoder = Encoder(stage.architecture, 0.0)
    load_weights(context.inputs["pretrained"] / CHECKPOINT, encoder, "encoder.")
    encoder = encoder.to(open_device(stage.device)).eval()
    parts = {part: load_words(folder / part) for part in ("train", "dev", *other_parts(folder))}
    features = {part: word_vectors(encoder, words) for part, words in parts.items()}
    tags = torch.tensor(parts["train"].tags)[_placed(parts["train"])]
    if len(tags) == 0:
        raise DataError(f"{stage.task}: no word of the train part fits a sequence")
    layers: dict[str, list[list[int]]] = {part: [] for part in parts}
    for number, train in enumerate(features["train"]):
        context.progress(f"{stage.task}: layer {number}", number / len(features["train"]))
        probe = fitted(train, tags.to(train.device), outputs)
        if not all(weights.isfinite().all() for weights in probe):
            raise Diverged({"task": stage.task, "error": f"layer {number}: a probe that is not finite"})
        for part, words in parts.items():
            layers[part].append(_predicted(probe, features[part][number], words, int(tags.mode().values)))
    for part in parts:
        (context.folder / predictions_file(part)).write_text(json.dumps(layers[part][-1]))
    (context.folder / layers_file("dev")).write_text(json.dumps(layers["dev"]))
    others: dict[str, JsonValue] = {part: len(parts[part].sequences) for part in other_parts(folder)}
    return {"examples": len(parts["dev"].sequences)} | ({"others": others} if others else {})


Probe = tuple[Tensor, Tensor, Tensor, Tensor]
"""Mean and standard deviation of each feature, weights [outputs width] and biases [outputs]."""


def fitted(x: Float[Tensor, "words width"], tags: Int[Tensor, " words"], outputs: int) -> Probe:
    """Return the logistic regression of the tags on standardised vectors, by L-BFGS from zero."""
    mean, spread = x.mean(0), x.std(0, correction=0).clamp_min(SMALLEST_SPREAD)
    x = (x - mean) / spread
    weights = nn.Parameter(x.new_zeros(outputs, x.shape[1]))
    biases = nn.Parameter(x.new_zeros(outputs))
    optimiser = torch.optim.LBFGS(
        [weights, biases], max_iter=MOST_ITERATIONS, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
    )

    def loss() -> float:
        optimiser.zero_grad()
        found = cross_entropy(x @ weights.T + biases, tags) + PENALTY / (2 * len(x)) * weights.square().sum()
        found.backward()
        return found.item()

    optimiser.step(loss)
    return mean, spread, weights.detach(), biases.detach()


def word_vectors(encoder: Encoder, words: EncodedWords) -> list[Float[Tensor, "placed width"]]:
    """Return, from the embeddings to the last layer, the vectors of all words that have a position, in order."""
    found: list[list[Tensor]] = [[] for _ in range(len(encoder.blocks) + 1)]
    chosen = np.asarray(words.words)[_placed(words)]
    for first in range(0, len(words.sequences), SENTENCES_PER_BATCH):
        rows = np.arange(first, min(first + SENTENCES_PER_BATCH, len(words.sequences)))
        inside = chosen[(chosen[:, 0] >= rows[0]) & (chosen[:, 0] <= rows[-1])]
        sequence, position = (torch.from_numpy(inside[:, column].astype(np.int64)) for column in (0, 1))
        for layer, x in enumerate(_hidden_states(encoder, *_inputs(words, rows, encoder.device))):
            found[layer].append(x[sequence - int(rows[0]), position])
    return [torch.cat(layer) for layer in found]


def _placed(words: EncodedWords) -> NDArray[np.bool_]:
    placed: NDArray[np.bool_] = np.asarray(words.words)[:, 1] != NO_POSITION
    return placed


@torch.inference_mode()
def _hidden_states(
    encoder: Encoder, tokens: Int[Tensor, "batch seq"], padding_mask: Tensor
) -> Sequence[Float[Tensor, "batch seq width"]]:
    """Return the input of the first block and the output of every block."""
    found: list[Tensor] = []

    def keep_input(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.append(inputs[0])

    def keep_output(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        found.append(output)

    hooks = [encoder.blocks[0].register_forward_pre_hook(keep_input)]
    hooks += [block.register_forward_hook(keep_output) for block in encoder.blocks]
    try:
        encoder(tokens, None, padding_mask)
    finally:
        for hook in hooks:
            hook.remove()
    return [x.clone() for x in found]


def _inputs(words: EncodedWords, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return tokens and padding mask, cut to the longest of the rows; each [batch seq]."""
    lengths = np.asarray(words.sequences.lengths)[rows]
    longest = int(lengths.max())
    tokens = torch.from_numpy(np.asarray(words.sequences.tokens)[rows, :longest].astype(np.int64))
    padding_mask = torch.arange(longest)[None] < torch.from_numpy(lengths.astype(np.int64))[:, None]
    return tokens.to(device), padding_mask.to(device)


def _predicted(probe: Probe, x: Tensor, words: EncodedWords, otherwise: int) -> list[int]:
    """Return the tag of every word; one without a position gets the most frequent tag."""
    mean, spread, weights, biases = probe
    predicted = np.full(len(words.words), otherwise)
    predicted[_placed(words)] = (((x - mean) / spread) @ weights.T + biases).argmax(-1).cpu().numpy()
    return [int(tag) for tag in predicted]
