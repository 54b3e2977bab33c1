"""Small encoder–decoders of every kind, with every parameter far from its initial value."""

from typing import Any

import torch
from torch import Tensor

from search_space.candidate import Candidate
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.initialisation import initialise

SIZES: dict[str, Any] = {
    "kind": "encoder_decoder",
    "depth": 2,
    "decoder_depth": 2,
    "width": 32,
    "heads": 4,
    "feed_forward_width": 48,
    "vocabulary_size": 40,
    "positions": 24,
}
CHANGES: dict[str, dict[str, Any]] = {
    "transformer": {
        "feed_forward_activation": "relu",
        "normalisation": {"kind": "post_norm", "embedding": False},
        "position": {"kind": "sinusoidal"},
        "scaled_embeddings": True,
    },
    "bart": {"position": {"kind": "learned", "offset": 2}},
    "pre_norm": {"normalisation": {"kind": "pre_norm"}, "position": {"kind": "sinusoidal"}},
    "pre_norm_without_final": {"normalisation": {"kind": "pre_norm", "final": False}},
    "untied": {"embedding_tying": "none", "output_bias": True},
    "inputs_tied": {"embedding_tying": "inputs"},
    "target_tied": {"embedding_tying": "target"},
    "key_width": {"key_width": 4, "value_width": 12},
    "evolved": {
        "layers": "(g <[lin:4:relu|conv:3:0.5:relu] ln sep:9:0.5> s f)*1",
        "decoder_layers": "[s(heads=8)|c] <[sep:5:2:relu|sep:3:0.5] ln sep:3:1> s c f(middle_norm=1)",
        "normalisation": {"kind": "pre_norm"},
        "position": {"kind": "sinusoidal"},
    },
    "without_biases": {"attention_biases": False},
    "recurrent": {"layers": "r s f", "decoder_layers": "r(hidden_width=16) c f g", "position": {"kind": "none"}},
}
"""By name, over `SIZES`."""


def architecture(name: str = "transformer", **sizes: Any) -> EncoderDecoderArchitecture:
    """Return the architecture of a name with other sizes."""
    document = {"architecture": {**SIZES, **CHANGES[name], **sizes}, "objective": {"kind": "denoising"}}
    found = Candidate.model_validate(document).architecture
    assert isinstance(found, EncoderDecoderArchitecture)
    return found


def built(declared: EncoderDecoderArchitecture, seed: int = 3, spread: float = 0.2) -> EncoderDecoder:
    """Return the module with random values far from the initial ones, without dropout."""
    model = build_encoder(declared, 0.0)
    assert isinstance(model, EncoderDecoder)
    initialise(model, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=spread)
    return model.eval()


def tokens(seed: int, rows: int = 3, length: int = 12, vocabulary: int = 40) -> Tensor:
    """Return random tokens, none of which is special [rows length]."""
    return torch.randint(5, vocabulary, (rows, length), generator=torch.Generator().manual_seed(seed))
