"""Planted sources and targets: a marker says whether the target is a copy of the source's rest, or its reversal."""

import numpy as np

from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import TrainingSettings, train_pairs
from runners.training.text_writer import DecoderWriter
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.labelled.encoding import EncodedExamples
from steeplechase.tasks.labelled.forms import EncodedTextPairs
from tests.factories.encoder_decoders import architecture

PAD, START, END, COPY, REVERSAL, FIRST_SYMBOL, SYMBOLS = 0, 2, 3, 5, 6, 7, 8
VOCABULARY = FIRST_SYMBOL + SYMBOLS


def planted_pairs(count: int, seed: int, length: int = 6) -> EncodedTextPairs:
    """Return pairs of which every second is a reversal; their texts are the tokens as numbers."""
    symbols = np.random.default_rng(seed).integers(FIRST_SYMBOL, VOCABULARY, (count, length))
    marks = np.where(np.arange(count) % 2, REVERSAL, COPY)[:, None]
    targets = np.where(marks == REVERSAL, symbols[:, ::-1], symbols)
    column = np.ones((count, 1), np.int64)
    sources = np.concatenate([START * column, marks, symbols, END * column], 1).astype(np.int32)
    nothing = np.full(count, -1, np.int32)
    encoded = EncodedExamples(
        sources,
        np.zeros_like(sources),
        np.full(count, sources.shape[1], np.int32),
        *(nothing, nothing, nothing),
        np.zeros((count, sources.shape[1], 0), np.int32),
        *((), (), 0, 0),
    )
    texts = tuple(" ".join(map(str, row)) for row in targets.tolist())
    ended = np.concatenate([targets, END * column], 1).astype(np.int32)
    return EncodedTextPairs(encoded, ended, np.full(count, length + 1, np.int32), texts, texts)


def trained_on_planted_pairs(*, updates: int, looks_ahead: bool = False) -> tuple[EncoderDecoder, list[float]]:
    """Return a small encoder–decoder trained on planted pairs, and its losses.

    With `looks_ahead` the decoder's attention hides nothing, so that each token is predicted from itself.
    """
    sizes = {"width": 64, "feed_forward_width": 128, "depth": 1, "decoder_depth": 1, "vocabulary_size": VOCABULARY}
    norm = {"kind": "pre_norm", "embedding": False}
    model = build_encoder(architecture("transformer", **sizes, normalisation=norm), 0.0)
    assert isinstance(model, EncoderDecoder)
    initialise(model, 1)
    if looks_ahead:
        for block in model.decoder.blocks:
            block.attention.visibility = "bidirectional"  # type: ignore[union-attr, assignment]
    losses: list[float] = []
    settings = TrainingSettings(1, 5e-3, 0.1, "linear", 0.0, 1, "float32")
    pairs = planted_pairs(64 * updates, 1)
    batches = np.arange(64 * updates).reshape(updates, 64)
    train_pairs(
        DecoderWriter(model, START),
        pairs,
        settings,
        adamw(model, 0.0, betas=(0.9, 0.98)),
        lambda _epoch: list(batches),
        np.random.default_rng,
        lambda _share, loss: losses.append(loss),
    )
    return model.eval(), losses
