"""A new encoder of the source: closed forms against the built model, what its first stage updates, padding, seeds."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import (
    SourceEncoderSizes,
    first_stage_parameters_count,
    parameters_with_source_encoder,
    update_flops,
)
from steeplechase.models.encoder_decoder import EncoderDecoder, add_source_encoder, first_stage_parameters
from steeplechase.models.initialisation import initialise
from tests.factories.encoder_decoders import CHANGES, architecture, built, tokens

SIZES, VOCABULARY, LENGTH = SourceEncoderSizes(depth=1, heads=2, feed_forward_width=24), 30, 12
every_kind = pytest.mark.parametrize("kind", CHANGES)


def with_source_encoder(declared: EncoderDecoderArchitecture, seed: int = 5) -> EncoderDecoder:
    """Return a model whose values are far from the initial ones, with a new encoder at its initial values."""
    model = built(declared)
    encoder = add_source_encoder(model, SIZES.architecture(declared, VOCABULARY))
    initialise(nn.ModuleDict({"source_encoder": encoder}), seed)
    return model.eval()


@every_kind
def test_parameters_are_those_of_the_built_model(kind: str) -> None:
    declared = architecture(kind)
    model, source = with_source_encoder(declared), SIZES.architecture(declared, VOCABULARY)
    assert not list(SIZES.violations(declared))
    assert sum(each.numel() for each in model.parameters()) == parameters_with_source_encoder(declared, source)
    updated = first_stage_parameters(model)
    assert sum(each.numel() for each in updated.values()) == first_stage_parameters_count(declared, source)


def test_the_first_stage_updates_what_the_paper_names() -> None:
    """The new encoder, the positions, and the matrices of the first self-attention's input projection."""
    updated = first_stage_parameters(with_source_encoder(architecture("bart")))
    pretrained = {name for name in updated if not name.startswith("embeddings.encoder.")}
    attention = {f"blocks.0.attention.{each}.weight" for each in ("query", "key", "value")}
    assert pretrained == {"embeddings.positions.weight", "decoder.embeddings.positions.weight", *attention}
    new = {name for name, _ in with_source_encoder(architecture("bart")).named_parameters() if "encoder." in name}
    assert updated.keys() - pretrained == {name for name in new if name.startswith("embeddings.encoder.")}


def counted(kind: str, *, first_stage: bool) -> tuple[float, int]:
    """Return the FLOPs of an update as torch counts them, and in closed form."""
    declared = architecture(kind)
    model = with_source_encoder(declared)
    if first_stage:
        model.requires_grad_(False)
        for parameter in first_stage_parameters(model).values():
            parameter.requires_grad_(True)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model.target_logits(tokens(1, 2, LENGTH, VOCABULARY), None, tokens(2, 2, LENGTH)).sum().backward()
    source = SIZES.architecture(declared, VOCABULARY)
    return counter.get_total_flops() / 2, update_flops(declared, source, LENGTH, first_stage=first_stage)


@pytest.mark.parametrize("first_stage", [True, False])
@pytest.mark.parametrize("kind", ["bart", "untied", "key_width", "without_biases"])
def test_flops_of_an_update_are_those_of_a_counted_one(kind: str, first_stage: bool) -> None:
    found, closed = counted(kind, first_stage=first_stage)
    assert found == closed


def test_gradients_end_at_the_first_cross_attention_where_no_positions_are_learned() -> None:
    found, closed = counted("pre_norm", first_stage=True)
    assert 0.9 * closed < found < closed
    assert counted("pre_norm", first_stage=False)[0] == pytest.approx(counted("pre_norm", first_stage=False)[1])


@pytest.mark.parametrize("kind", ["transformer", "bart", "pre_norm"])
def test_padding_of_a_source_changes_nothing(kind: str) -> None:
    model = with_source_encoder(architecture(kind))
    source, target = tokens(1, 2, 8, VOCABULARY), tokens(2, 2, 6)
    real = torch.arange(8) < torch.tensor([5, 8])[:, None]

    def logits(sources: Tensor) -> Tensor:
        with torch.no_grad():
            return model.target_logits(sources, real, target)

    assert torch.allclose(logits(source), logits(source.masked_fill(~real, 1)), atol=1e-6)
    assert torch.allclose(logits(source)[:1], model.target_logits(source[:1, :5], None, target[:1]), atol=1e-5)
