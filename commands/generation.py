"""Loads a fine-tuned encoder–decoder and generates texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from foundation.errors import DataError
from ledger.checkpoints import TunedTrial
from models.build_encoder import build_encoder
from models.encoder_decoder import EncoderDecoder
from models.generation.search import SearchSettings
from runners.stages.generated_texts import FINE_TUNED, continued
from runners.training.checkpoint import load_weights
from tasks.tokenizer import load_tokenizer

SOURCES_AT_A_TIME = 64


@dataclass(frozen=True)
class Search:
    """Settings of the command line."""

    beams: int
    length_penalty: float
    longest: int


def texts_of(tuned: TunedTrial, sources: Sequence[str], search: Search) -> list[str]:
    """Return the text that the trial generates for each source. Raises DataError for sources that are too long."""
    tokenizer, architecture = load_tokenizer(tuned.tokens), tuned.architecture
    encoded = [[tokenizer.classify, *tokens, tokenizer.separate] for tokens in tokenizer.encode(sources)]
    reasons = [architecture.too_long(len(tokens)) for tokens in encoded]
    too_long = [f"line {number}: {reason}" for number, reason in enumerate(reasons, 1) if reason]
    if too_long:
        raise DataError(too_long[:20])
    model = build_encoder(architecture, 0.0)
    assert isinstance(model, EncoderDecoder)
    load_weights(tuned.stage / FINE_TUNED, model)
    room = (architecture.longest_sequence or search.longest + 1) - 1  # for [CLS]
    settings = SearchSettings(
        end=tokenizer.separate,
        longest=min(search.longest, room),
        beams=search.beams,
        length_penalty=search.length_penalty,
        forbidden=(tokenizer.pad, tokenizer.classify, tokenizer.mask),
    )
    texts = [""] * len(encoded)
    order = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
    for first in range(0, len(order), SOURCES_AT_A_TIME):
        rows = order[first : first + SOURCES_AT_A_TIME]
        longest = max(len(encoded[row]) for row in rows)
        tokens = torch.tensor([encoded[row] + [tokenizer.pad] * (longest - len(encoded[row])) for row in rows])
        mask = torch.arange(longest) < torch.tensor([len(encoded[row]) for row in rows])[:, None]
        for row, found in zip(rows, continued(model, tokens, mask, tokenizer, settings), strict=True):
            texts[row] = tokenizer.decode(found.tokens)
    return texts
