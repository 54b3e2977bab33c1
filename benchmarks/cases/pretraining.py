"""A full step of replaced token detection: masks, generator, samples, discriminator, clipping and AdamW.

Our side is the training loop itself. The peer, on the same batches and masks, is a fair ELECTRA step from
transformers' modules: ConvBERT encoders and a dense vocabulary head. As in efficient public code (electra_pytorch's
path over transformers' models), logits are at every position, of which only the masked ones are selected and sampled.
Embeddings and output table are tied; the losses are 1 x MLM + 50 x RTD (arXiv 2003.10555, section 3.1).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from benchmarks.cases.encoder import architecture, scatter
from benchmarks.measuring import FULL_SIZE, TOLERANCES, Figure, Pace, Row, Size, check, named, need
from benchmarks.references import conv_bert
from benchmarks.training_step import Match, measure_step, training_data
from search_space.architecture import Architecture
from search_space.objective import ReplacedTokenDetection
from steeplechase.models.precision import autocast_to
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

PEER = "fair transformers ELECTRA, float32"
REACH = {torch.float32: (3.0, 1.85), torch.bfloat16: (5.5, 3.3)}  # per vocabulary
GENERATOR_RATIO = 4
DISCRIMINATOR_WEIGHT = 50.0


class Electra(nn.Module):
    """Generator, discriminator and their heads, every module from transformers."""

    def __init__(self, architecture: Architecture, generator: Architecture) -> None:
        super().__init__()
        from transformers.models.convbert.modeling_convbert import ConvBertGeneratorPredictions
        from transformers.models.electra.modeling_electra import ElectraDiscriminatorPredictions

        self.encoder, self.generator = conv_bert.build(architecture), conv_bert.build(generator)
        self.generator.embeddings = self.encoder.embeddings
        self.predictions: nn.Module = ConvBertGeneratorPredictions(conv_bert.config_of(generator))
        self.words = nn.Linear(architecture.embedding_width, architecture.vocabulary_size)
        self.words.weight = self.table
        self.discriminator_head: nn.Module = ElectraDiscriminatorPredictions(conv_bert.config_of(architecture))

    @property
    def table(self) -> nn.Parameter:
        """The token embeddings, shared with the output layer."""
        weight: nn.Parameter = self.encoder.get_input_embeddings().weight  # type: ignore[operator]
        return weight

    def loss(self, batch: MaskedBatch, samples: Tensor | None = None) -> Tensor:
        """Return the weighted sum of both losses; `samples` [batch predictions], if given, replace sampling."""
        inputs, positions = torch.from_numpy(batch.inputs), torch.from_numpy(batch.masked_positions)
        targets = torch.from_numpy(batch.targets)
        all_logits = self.words(self.predictions(self.generator(input_ids=inputs)[0]))
        rows = torch.arange(len(inputs))[:, None]
        logits = all_logits[rows, positions].flatten(0, 1)
        generator_loss = cross_entropy(logits, targets.flatten())
        sampled = sample(logits.detach()).view_as(targets) if samples is None else samples
        corrupted = inputs.scatter(1, positions, sampled)
        replaced = torch.zeros_like(inputs).scatter(1, positions, (sampled != targets).long())
        detections = self.discriminator_head(self.encoder(input_ids=corrupted)[0])
        discriminator_loss = binary_cross_entropy_with_logits(detections, replaced.float())
        return generator_loss + DISCRIMINATOR_WEIGHT * discriminator_loss


def sample(logits: Tensor) -> Tensor:
    """Return one token per row by the Gumbel-max trick; torch.multinomial takes a tenth longer."""
    noise = torch.empty_like(logits).exponential_().log_()
    return noise.neg_().add_(logits).argmax(-1)


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per precision and vocabulary; the peer is in float32 throughout."""
    for precision, reaches in REACH.items():
        for vocabulary, reach in zip(size.vocabularies, reaches, strict=True):
            name = f"RTD step, V={vocabulary:,}, ours {named(precision)}, h={size.widths[0]}, {size.depth} layers"
            yield Row(name, PEER, reach, lambda pace, v=vocabulary, p=precision: _measure(size, v, p, pace))  # type: ignore[misc]


def match(size: Size, vocabulary: int, precision: torch.dtype = torch.float32) -> Match:
    """Build both sides; the generator has a quarter of the width and two heads, as transformers requires."""
    built = architecture(size, size.widths[0]).model_copy(update={"vocabulary_size": vocabulary})
    objective = ReplacedTokenDetection(generator_ratio=GENERATOR_RATIO)
    baseline = built.model_copy(update={"heads": 2 * GENERATOR_RATIO})
    generator = objective.generator_of(built, baseline)
    assert generator is not None
    data = training_data(built, objective, size, precision)
    ours, theirs = build_model(data.candidate, generator, 1), Electra(built, generator)
    scatter(theirs)
    _copy_weights(theirs, ours)
    return Match(data, ours.train(), theirs.train(), baseline)


def agree(match: Match) -> None:
    """Compare the losses on the same batch with the same samples. Raises Disagreement."""
    batch, precision = match.batch(0), match.data.candidate.recipe.precision
    corrupted: list[Tensor] = []
    hook = match.ours.encoder.register_forward_pre_hook(lambda _, inputs: corrupted.append(inputs[0]))
    with torch.no_grad(), autocast_to(precision, torch.device("cpu")):
        ours = match.ours.loss(batch, np.random.default_rng(2))
    hook.remove()
    assert isinstance(match.theirs, Electra)
    with torch.no_grad():
        theirs = match.theirs.loss(batch, corrupted[0].gather(1, torch.from_numpy(batch.masked_positions)))
    check("loss", ours, theirs, TOLERANCES[getattr(torch, precision)])


def _measure(size: Size, vocabulary: int, precision: torch.dtype, pace: Pace) -> Figure:
    need(precision)
    built = match(size, vocabulary, precision)
    agree(built)
    return measure_step(built, pace, precision)


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
