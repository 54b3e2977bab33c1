"""A full step of masked language modelling by BERT, ALBERT and SpanBERT against transformers' own models.

Our side is the training loop itself, which takes logits at the predicted positions only; theirs is the loss of the
class as it is released, with logits at every position, clipping and AdamW. Batches and masks are the same.
"""

from collections.abc import Iterator

import torch

from benchmarks.cases.encoder import scatter
from benchmarks.measuring import Pace
from benchmarks.references.masked_language_model import MaskedLanguageModel as Peer
from benchmarks.references.masked_language_model import SpanBert
from benchmarks.row import FULL_SIZE, Figure, Row, Size
from benchmarks.training_step import Match, agree, measure_step, training_data
from search_space.architecture import Architecture
from search_space.objective import MaskedLanguageModel, SpanBoundary
from steeplechase.tasks.objectives import build_model

SYSTEMS = {
    "BERT": "transformers' BertForMaskedLM",
    "ALBERT": "transformers' AlbertForMaskedLM",
    "SpanBERT": "transformers' BertForMaskedLM and a span boundary head",
}
REACH = 1.3
HEADS, FEED_FORWARD_RATIO, ALBERT_EMBEDDING_WIDTH = 4, 4, 128


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per system, in float32."""
    for system, peer in SYSTEMS.items():
        name = f"{system} step, h={size.widths[0]}, {size.depth} layers, B{size.batch} T{size.length}"
        yield Row(name, f"{peer}, float32", REACH, lambda pace, s=system: _measure(size, s, pace))  # type: ignore[misc]


def match(size: Size, system: str) -> Match:
    """Build both sides with the same random weights."""
    width = size.widths[0]
    architecture = Architecture(
        depth=size.depth,
        width=width,
        embedding_width=ALBERT_EMBEDDING_WIDTH if system == "ALBERT" else width,
        heads=HEADS,
        feed_forward_width=FEED_FORWARD_RATIO * width,
        vocabulary_size=size.vocabularies[0],
        sharing="all" if system == "ALBERT" else "none",
    )
    objective = SpanBoundary() if system == "SpanBERT" else MaskedLanguageModel()
    data = training_data(architecture, objective, size)
    ours = build_model(data.candidate, None, 1)
    theirs = (
        SpanBert(architecture, objective)
        if isinstance(objective, SpanBoundary)
        else Peer(system.lower(), architecture)
    )
    scatter(theirs)
    theirs.copy_to(ours)
    return Match(data, ours.train(), theirs.train(), architecture)


def _measure(size: Size, system: str, pace: Pace) -> Figure:
    built = match(size, system)
    agree(built)
    return measure_step(built, pace, torch.float32)
