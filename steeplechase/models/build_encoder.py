"""Builds the encoder of an architecture: the stack of blocks, an encoder with a decoder, or a factory's module."""

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.module_architecture import ModuleArchitecture
from steeplechase.models.activation_checkpointing import ActivationCheckpointing
from steeplechase.models.encoder import Encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.module_encoder import ModuleEncoder


def build_encoder(
    architecture: Architecture,
    dropout_rate: float,
    activation_checkpointing: ActivationCheckpointing = "none",
) -> Encoder:
    """Return the encoder; a factory's module takes its dropout from its arguments."""
    if isinstance(architecture, ModuleArchitecture):
        return ModuleEncoder(architecture)
    if isinstance(architecture, EncoderDecoderArchitecture):
        return EncoderDecoder(architecture, dropout_rate, activation_checkpointing)
    return Encoder(architecture, dropout_rate, activation_checkpointing=activation_checkpointing)
