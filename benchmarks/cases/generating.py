"""A full training step of a GPT and of a BART against transformers' own models.

Our side is the training loop itself; theirs is the loss of the class as it is released, with clipping and AdamW.
Batches, corruptions and weights are the same.
"""

from collections.abc import Iterator

import torch

from benchmarks.cases.encoder import scatter
from benchmarks.measuring import Pace
from benchmarks.references.generating import BartPeer, Gpt, Peer
from benchmarks.row import FULL_SIZE, Figure, Row, Size
from benchmarks.training_step import Match, agree, measure_step, training_data
from search_space.architecture import Architecture
from search_space.objective import Denoising, LanguageModel, Objective
from search_space.output_layer import EmbeddingTable
from steeplechase.tasks.objectives import build_model

PEERS: dict[str, type[Peer]] = {"GPT": Gpt, "BART": BartPeer}
REACH = 1.2
HEADS, FEED_FORWARD_RATIO, POSITION_OFFSET = 4, 4, 2


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per system, in float32."""
    for system in PEERS:
        stacks = f"{size.depth} layers" if system == "GPT" else f"{size.depth}+{size.depth} layers"
        name = f"{system} step, h={size.widths[0]}, {stacks}, B{size.batch} T{size.length}"
        peer = "OpenAIGPTLMHeadModel" if system == "GPT" else "BartForConditionalGeneration"
        yield Row(name, f"transformers' {peer}, float32", REACH, lambda pace, s=system: _measure(size, s, pace))  # type: ignore[misc]


def match(size: Size, system: str) -> Match:
    """Build both sides with the same random weights."""
    architecture, objective = _declared(size, system)
    data = training_data(architecture, objective, size)
    ours, theirs = build_model(data.candidate, None, 1), PEERS[system](architecture)
    with torch.no_grad():
        scatter(theirs)
        for norm in (module for module in theirs.modules() if isinstance(module, torch.nn.LayerNorm)):
            norm.weight.add_(1)  # gains whose names the scattering does not know
    theirs.copy_to(ours)
    return Match(data, ours.train(), theirs.train(), architecture)


def _declared(size: Size, system: str) -> tuple[Architecture, Objective]:
    width = size.widths[0]
    sizes = {
        "depth": size.depth,
        "width": width,
        "embedding_width": width,
        "heads": HEADS,
        "feed_forward_width": FEED_FORWARD_RATIO * width,
        "vocabulary_size": size.vocabularies[0],
    }
    if system == "GPT":
        norm = {"kind": "post_norm", "embedding": False, "epsilon": 1e-5}
        own = {"segments": 0, "visibility": "left_to_right", "feed_forward_activation": "gelu_tanh"}
        gpt = Architecture.model_validate({**sizes, **own, "normalisation": norm, "positions": size.length})
        return gpt, LanguageModel(output_layer=EmbeddingTable())
    own_of_bart = {
        "kind": "encoder_decoder",
        "decoder_depth": size.depth,
        "positions": size.length + POSITION_OFFSET,
        "position": {"kind": "learned", "offset": POSITION_OFFSET},
        "normalisation": {"kind": "post_norm", "epsilon": 1e-5},
    }
    return Architecture.model_validate({**sizes, **own_of_bart}), Denoising()


def _measure(size: Size, system: str, pace: Pace) -> Figure:
    built = match(size, system)
    agree(built)
    return measure_step(built, pace, torch.float32)
