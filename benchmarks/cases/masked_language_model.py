"""A full step of masked language modelling by BERT, ALBERT, ModernBERT and SpanBERT beside transformers' own.

Our side is the training loop itself, which takes logits at the predicted positions only; theirs is the loss of the
class as it is released, with logits at every position, clipping and AdamW. Batches and masks are the same.
"""

from collections.abc import Iterator

import torch

from benchmarks.cases.encoder import scatter
from benchmarks.measuring import FULL_SIZE, Figure, Pace, Row, Size
from benchmarks.references.masked_language_model import MaskedLanguageModel as Peer
from benchmarks.references.masked_language_model import SpanBert
from benchmarks.training_step import Match, agree, measure_step, training_data
from search_space.architecture import Architecture
from search_space.objective import MaskedLanguageModel, SpanBoundary
from search_space.released.models import PRESETS
from steeplechase.tasks.objectives import build_model

SYSTEMS = {
    "BERT": "transformers' BertForMaskedLM",
    "ALBERT": "transformers' AlbertForMaskedLM",
    "ModernBERT": "transformers' ModernBertForMaskedLM",
    "SpanBERT": "transformers' BertForMaskedLM and a span boundary head",
}
REACH = 1.3
HEADS, FEED_FORWARD_RATIO, ALBERT_EMBEDDING_WIDTH = 4, 4, 128
WINDOW, PERIOD = "(local=128)", 3
"""ModernBERT's: the first of three layers has no window."""


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per system, in float32."""
    for system, peer in SYSTEMS.items():
        name = f"{system} step, h={size.widths[0]}, {size.depth} layers, B{size.batch} T{size.length}"
        yield Row(name, f"{peer}, float32", REACH, lambda pace, s=system: _measure(size, s, pace))  # type: ignore[misc]


def match(size: Size, system: str) -> Match:
    """Build both sides with the same random weights."""
    architecture = architecture_of(size, system)
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


def architecture_of(size: Size, system: str) -> Architecture:
    """Return the sizes of all systems with the parts of one."""
    width = size.widths[0]
    sizes: dict[str, object] = {
        "depth": size.depth,
        "width": width,
        "heads": HEADS,
        "vocabulary_size": size.vocabularies[0],
    }
    if system == "ModernBERT":
        released = PRESETS["modernbert-base"].candidate.architecture
        layers = " ".join(f"s{WINDOW if number % PERIOD else ''} f" for number in range(size.depth))
        sizes |= {"layers": layers, "embedding_width": width, "feed_forward_width": width * 3 // 2}
        return Architecture.model_validate(released.model_dump() | sizes)
    shared = {"embedding_width": ALBERT_EMBEDDING_WIDTH, "sharing": "all"}
    plain = {"embedding_width": width, "feed_forward_width": FEED_FORWARD_RATIO * width}
    return Architecture.model_validate(sizes | plain | (shared if system == "ALBERT" else {}))


def _measure(size: Size, system: str, pace: Pace) -> Figure:
    built = match(size, system)
    agree(built)
    return measure_step(built, pace, torch.float32)
