"""Fits a linear probe of word tags on each layer of a frozen encoder. Tenney et al. 2019, arXiv 1905.06316.

The probe is a multinomial logistic regression on the standardised vector of each word's first subword, with
scikit-learn's default penalty. The problem is convex and the weights start at zero, so nothing is random. The last
layer, which fine-tuning reads too, gives the score; the other layers are reported in addition.
"""

import json

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from runners.stages.context import Diverged, StageContext
from runners.stages.linear_probe import LinearProbeStage
from runners.training.pretrained import read_encoder
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import layers_file, other_parts, predictions_file
from steeplechase.models.encoder import Encoder, hidden_states
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.forms import NO_POSITION, EncodedWords, load_words

PENALTY = 1.0  # factor of half the squared weights, added to the summed loss; the inverse of scikit-learn's C
MAX_ITERATIONS = 200
SENTENCES_PER_BATCH = 64
MIN_STANDARD_DEVIATION = 1e-6  # a constant feature is divided by it and stays constant


def compute(stage: LinearProbeStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the predicted tags of all words: by the last layer for every part, by every layer for dev.

    Returns the numbers of sentences. Raises DataError if no training word fits a sequence, Diverged if the weights of
    a probe are not finite.
    """
    folder, outputs = context.inputs["examples"], len(find_task(stage.task).labels)
    encoder = read_encoder(context.inputs["pretrained"], stage.architecture, stage.device)
    parts = {part: load_words(folder / part) for part in ("train", "dev", *other_parts(folder))}
    features = {part: word_vectors(encoder, words) for part, words in parts.items()}
    tags = torch.tensor(parts["train"].tags)[_has_position(parts["train"])]
    if len(tags) == 0:
        raise DataError(f"{stage.task}: no word of the train part fits a sequence")
    most_frequent = int(tags.mode().values)
    layers: dict[str, list[list[int]]] = {part: [] for part in parts}
    for number, train in enumerate(features["train"]):
        context.progress(f"{stage.task}: layer {number}", number / len(features["train"]))
        probe = fit_probe(train, tags.to(train.device), outputs)
        if not all(weights.isfinite().all() for weights in probe):
            raise Diverged({"task": stage.task, "error": f"layer {number}: a probe that is not finite"})
        for part, words in parts.items():
            layers[part].append(_predict_tags(probe, features[part][number], words, most_frequent))
    for part in parts:
        (context.folder / predictions_file(part)).write_text(json.dumps(layers[part][-1]))
    (context.folder / layers_file("dev")).write_text(json.dumps(layers["dev"]))
    others: dict[str, JsonValue] = {part: len(parts[part].sequences) for part in other_parts(folder)}
    return {"examples": len(parts["dev"].sequences)} | ({"others": others} if others else {})


Probe = tuple[Tensor, Tensor, Tensor, Tensor]
"""Mean and standard deviation of each feature, weights [outputs width] and biases [outputs]."""


def fit_probe(x: Float[Tensor, "words width"], tags: Int[Tensor, " words"], outputs: int) -> Probe:
    """Return the logistic regression of the tags [words] on the vectors [words width], by L-BFGS from zero."""
    mean, deviation = x.mean(0), x.std(0, correction=0).clamp_min(MIN_STANDARD_DEVIATION)
    x = (x - mean) / deviation
    weights = nn.Parameter(x.new_zeros(outputs, x.shape[1]))
    biases = nn.Parameter(x.new_zeros(outputs))
    optimiser = torch.optim.LBFGS(
        [weights, biases], max_iter=MAX_ITERATIONS, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
    )

    def loss() -> float:
        optimiser.zero_grad()
        value = cross_entropy(x @ weights.T + biases, tags) + PENALTY / (2 * len(x)) * weights.square().sum()
        value.backward()
        return value.item()

    optimiser.step(loss)
    return mean, deviation, weights.detach(), biases.detach()


@torch.no_grad()
def word_vectors(encoder: Encoder, words: EncodedWords) -> list[Float[Tensor, "words width"]]:
    """Return the vectors of all words that have a position: one array per layer, the embeddings first."""
    vectors: list[list[Tensor]] = [[] for _ in range(len(encoder.blocks) + 1)]
    positioned = np.asarray(words.words)[_has_position(words)]
    for first in range(0, len(words.sequences), SENTENCES_PER_BATCH):
        rows = np.arange(first, min(first + SENTENCES_PER_BATCH, len(words.sequences)))
        batch = positioned[(positioned[:, 0] >= rows[0]) & (positioned[:, 0] <= rows[-1])]
        sequence, position = (torch.from_numpy(batch[:, column].astype(np.int64)) for column in (0, 1))
        tokens, padding_mask = _inputs(words, rows, encoder.device)
        for layer, x in enumerate(hidden_states(encoder, tokens, None, padding_mask)):
            vectors[layer].append(x[sequence - int(rows[0]), position])
    return [torch.cat(layer) for layer in vectors]


def _has_position(words: EncodedWords) -> NDArray[np.bool_]:
    """Return a mask [words] of the words that have a position in their sequence."""
    mask: NDArray[np.bool_] = np.asarray(words.words)[:, 1] != NO_POSITION
    return mask


def _inputs(words: EncodedWords, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return tokens and padding mask of the rows, cut to the longest of them; each [batch seq]."""
    lengths = np.asarray(words.sequences.lengths)[rows]
    longest = int(lengths.max())
    tokens = torch.from_numpy(np.asarray(words.sequences.tokens)[rows, :longest].astype(np.int64))
    padding_mask = torch.arange(longest)[None] < torch.from_numpy(lengths.astype(np.int64))[:, None]
    return tokens.to(device), padding_mask.to(device)


def _predict_tags(probe: Probe, x: Tensor, words: EncodedWords, default_tag: int) -> list[int]:
    """Return the predicted tag of every word; `default_tag` for words without a position."""
    mean, deviation, weights, biases = probe
    predicted = np.full(len(words.words), default_tag)
    predicted[_has_position(words)] = (((x - mean) / deviation) @ weights.T + biases).argmax(-1).cpu().numpy()
    return [int(tag) for tag in predicted]
