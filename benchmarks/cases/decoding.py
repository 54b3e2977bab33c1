"""Greedy decoding with caches against one pass over all tokens so far, which gives the same tokens."""

from collections.abc import Iterator

import torch

from benchmarks.measuring import Disagreement, Pace, compare
from benchmarks.row import FULL_SIZE, Figure, Row, Size, speed_figure
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import target_decoding
from steeplechase.models.generation.search import Hypothesis, SearchSettings, greedy_search
from steeplechase.models.initialisation import initialise

REACH = 5.0
HEADS, SOURCE_TOKENS = 4, 32
SOURCES = (1, 2, 16)
"""Sources that are decoded together: one row of the table each."""
START, END = 2, 3


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield the rows: `size.length` tokens for each source."""
    for sources in SOURCES:
        name = f"greedy decoding, h={size.widths[0]}, {size.depth}+{size.depth} layers, B{sources} T{size.length}"
        peer = "the same decoder without caches, float32"
        yield Row(name, peer, REACH, lambda pace, count=sources: _measure(size, count, pace))  # type: ignore[misc]


def _measure(size: Size, count: int, pace: Pace) -> Figure:
    model = _model(size)
    sources = torch.randint(
        4, size.vocabularies[1], (count, SOURCE_TOKENS), generator=torch.Generator().manual_seed(1)
    )
    with torch.no_grad():
        source = model.encode(sources)
    prompt = torch.full((count, 1), START)
    settings = SearchSettings(END, size.length, forbidden=(END,))  # so that every row has all tokens

    def decoded(*, cached: bool) -> list[Hypothesis]:
        return greedy_search(target_decoding(model, source, cached=cached), prompt, settings)

    if [each.tokens for each in decoded(cached=True)] != [each.tokens for each in decoded(cached=False)]:
        raise Disagreement("the tokens with and without caches differ")
    return speed_figure(compare(lambda: decoded(cached=True), lambda: decoded(cached=False), pace), None)


def _model(size: Size) -> EncoderDecoder:
    architecture = EncoderDecoderArchitecture.model_validate(
        {
            "depth": size.depth,
            "decoder_depth": size.depth,
            "width": size.widths[0],
            "heads": HEADS,
            "feed_forward_width": 4 * size.widths[0],
            "vocabulary_size": size.vocabularies[1],
            "positions": max(SOURCE_TOKENS, size.length + 1),
        }
    )
    model = build_encoder(architecture, 0.0).eval()
    assert isinstance(model, EncoderDecoder)
    initialise(model, 1)
    return model
