"""A full step of replaced token detection: masks, generator, samples, discriminator, clipping and AdamW.

Our side is the training loop itself. The peer trains on the same batches and masks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from benchmarks.cases.encoder import architecture, scatter
from benchmarks.measuring import Pace, check, compare
from benchmarks.precision import TOLERANCES, named, need
from benchmarks.references import conv_bert
from benchmarks.references.electra import Electra
from benchmarks.row import FULL_SIZE, Figure, Row, Size, speed_figure
from models.precision import autocast_to
from runners.training.loop import TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import ReplacedTokenDetection
from search_space.recipe import Recipe
from tasks.batches import Batches
from tasks.masking import MaskedBatch
from tasks.objectives import build_model
from tasks.objectives.pretraining_model import PretrainingModel
from tasks.tokenizer import WordPiece
from tasks.vocabulary import SPECIAL_TOKENS

PEER = "fair transformers ELECTRA, float32"
REACH = {torch.float32: (3.0, 1.85), torch.bfloat16: (5.5, 3.3)}  # per vocabulary
GENERATOR_RATIO = 4
TEXT_SEQUENCES = 64
HORIZON_TOKENS = 10**9
RATE = 1e-4


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per precision and vocabulary; the peer is in float32 throughout."""
    for precision, reaches in REACH.items():
        for vocabulary, reach in zip(size.vocabularies, reaches, strict=True):
            name = f"RTD step, V={vocabulary:,}, ours {named(precision)}, h={size.widths[0]}, {size.depth} layers"
            yield Row(name, PEER, reach, lambda pace, v=vocabulary, p=precision: _measure(size, v, p, pace))  # type: ignore[misc]


@dataclass
class Match:
    """Both sides with the same weights, and their training data."""

    data: TrainingData
    ours: PretrainingModel[Any]
    theirs: Electra
    baseline: Architecture
    """The architecture that the generator is derived from."""
    steps: int = field(default=0)

    def masked(self, number: int) -> MaskedBatch:
        """Return the masked batch of a step, drawn as the training loop draws it."""
        recipe, data = self.data.candidate.recipe, self.data
        sequences = data.batches.at(number, recipe.batch_sequences, data.seed)
        masked: MaskedBatch = self.ours.prepare(sequences, data.tokenizer, np.random.default_rng(number))
        return masked


def match(size: Size, vocabulary: int, precision: torch.dtype = torch.float32) -> Match:
    """Build both sides; the generator has a quarter of the width and two heads, as transformers requires."""
    built = architecture(size, size.widths[0]).model_copy(update={"vocabulary_size": vocabulary})
    recipe = Recipe(sequence_length=size.length, batch_sequences=size.batch, dropout=0.0, precision=named(precision))
    objective = ReplacedTokenDetection(generator_ratio=GENERATOR_RATIO)
    baseline = built.model_copy(update={"heads": 2 * GENERATOR_RATIO})
    generator = objective.generator_of(built, baseline)
    assert generator is not None
    candidate = Candidate(architecture=built, objective=objective, recipe=recipe)
    tokenizer = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(vocabulary - 5))], lowercase=True)
    random = np.random.default_rng(1)
    text = random.integers(len(SPECIAL_TOKENS), vocabulary, TEXT_SEQUENCES * size.length).astype(np.uint16)
    data = TrainingData(candidate, Batches(text, tokenizer, size.length), tokenizer, 1, HORIZON_TOKENS)
    ours, theirs = build_model(candidate, generator, 1), Electra(built, generator)
    scatter(theirs)
    _copy_weights(theirs, ours)
    return Match(data, ours.train(), theirs.train(), baseline)


def agree(match: Match) -> None:
    """Compare the losses on the same batch with the same samples. Raises Disagreement."""
    masked, precision = match.masked(0), match.data.candidate.recipe.precision
    corrupted: list[Tensor] = []
    hook = match.ours.encoder.register_forward_pre_hook(lambda _, inputs: corrupted.append(inputs[0]))
    with torch.no_grad(), autocast_to(precision, torch.device("cpu")):
        ours = match.ours.loss(masked, np.random.default_rng(2))
    hook.remove()
    inputs, positions, targets = _tensors(masked)
    with torch.no_grad():
        theirs = match.theirs.loss(inputs, positions, targets, corrupted[0].gather(1, positions))
    check("loss", ours, theirs, TOLERANCES[getattr(torch, precision)])


def _measure(size: Size, vocabulary: int, precision: torch.dtype, pace: Pace) -> Figure:
    need(precision)
    built = match(size, vocabulary, precision)
    agree(built)
    candidate, tokens = built.data.candidate, size.batch * size.length
    operations = candidate.train_flops(tokens, built.baseline)
    compared = compare(_our_step(built), _their_step(built), pace, precision)
    speed = tokens / compared.their_seconds
    return speed_figure(compared, operations, f"peer {speed:,.0f} tokens/s")


def _our_step(match: Match) -> Callable[[], None]:
    """Return the training loop, one update at a time."""
    recipe = match.data.candidate.recipe
    optimiser = build_optimiser(match.ours, recipe)

    def step() -> None:
        train(match.ours, match.data, optimiser, range(match.steps, match.steps + 1), lambda _: None)
        match.steps += 1

    return step


def _their_step(match: Match) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(match.theirs.parameters(), lr=RATE)

    def step() -> None:
        loss = match.theirs.loss(*_tensors(match.masked(match.steps)))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(match.theirs.parameters(), match.data.candidate.recipe.gradient_norm_limit)
        optimiser.step()

    return step


def _tensors(masked: MaskedBatch) -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.from_numpy(masked.inputs),
        torch.from_numpy(masked.masked_positions),
        torch.from_numpy(masked.targets),
    )


@torch.no_grad()
def _copy_weights(theirs: Electra, ours: PretrainingModel[Any]) -> None:
    ours_by_name = dict(ours.named_children())
    conv_bert.copy_weights(theirs.encoder, ours.encoder)
    conv_bert.copy_weights(theirs.generator, ours_by_name["generator"])  # type: ignore[arg-type]
    named = dict(theirs.named_parameters(remove_duplicate=False))
    own = dict(ours.named_parameters())
    for our_name, their_name in HEADS.items():
        own[our_name].copy_(named[their_name])


HEADS = {
    "judge.transform.weight": "discriminator_head.dense.weight",
    "judge.transform.bias": "discriminator_head.dense.bias",
    "judge.verdict.weight": "discriminator_head.dense_prediction.weight",
    "judge.verdict.bias": "discriminator_head.dense_prediction.bias",
    "generator_head.transform.weight": "predictions.dense.weight",
    "generator_head.transform.bias": "predictions.dense.bias",
    "generator_head.norm.weight": "predictions.LayerNorm.weight",
    "generator_head.norm.bias": "predictions.LayerNorm.bias",
    "generator_head.words.bias": "words.bias",
}
