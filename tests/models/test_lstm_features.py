"""Features of a frozen encoder: which layers are read, counts in closed form, gradients, and unchanged weights."""

import math
from typing import get_args

import pytest
import torch
from torch import Tensor

from search_space.architecture import Architecture
from steeplechase.models.downstream_model import (
    BiLSTM,
    FeatureReader,
    FrozenFeatures,
    ScalarMix,
    build_feature_model,
    feature_width,
)
from steeplechase.models.feature_layers import Features, layers_read
from steeplechase.models.heads.classification import NO_TAG
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import architecture, convolutions, stir

ARM = architecture(convolutions()[-1])
EVERY: tuple[Features, ...] = get_args(Features)
LENGTH = 8


def lstm_parameters(inputs: int, width: int, layers: int) -> int:
    """Return the parameters of a bidirectional LSTM: four gates with two matrices and two biases each."""
    sizes = [inputs, *[2 * width] * (layers - 1)]
    return sum(2 * 4 * width * (size + width + 2) for size in sizes)


def inputs(batch: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(5, 40, (batch, LENGTH), generator=generator)
    lengths = torch.randint(3, LENGTH + 1, (batch,), generator=generator)
    return tokens, torch.zeros_like(tokens), torch.arange(LENGTH)[None] < lengths[:, None]


def tagger(features: Features, dropout: float = 0.0) -> FrozenFeatures:
    model = build_feature_model(ARM, "tags", 3, FeatureReader(features, 6, 2), "first", dropout)
    assert isinstance(model, FrozenFeatures)
    initialise(model, 1)
    stir(model.encoder)
    return model


def test_the_layers_of_bert_base_are_those_of_table_7() -> None:
    assert {name: layers_read(name, 12) for name in EVERY} == {
        "embeddings": (0,),
        "last": (12,),
        "second_to_last": (11,),
        "sum_last_four": (9, 10, 11, 12),
        "concat_last_four": (9, 10, 11, 12),
        "weighted_sum_all": tuple(range(1, 13)),
    }


def test_the_counts_of_bert_base_are_those_in_closed_form() -> None:
    base = Architecture(
        depth=12, width=768, embedding_width=768, heads=12, feed_forward_width=3072, vocabulary_size=30522
    )
    assert feature_width(base, "concat_last_four") == 3072
    with torch.device("meta"):
        lstm = BiLSTM(feature_width(base, "concat_last_four"), 768, 2, 0.1)
        mix = ScalarMix(len(layers_read("weighted_sum_all", 12)))
    assert sum(each.numel() for each in lstm.parameters()) == 37_773_312 == lstm_parameters(3072, 768, 2)
    assert sum(each.numel() for each in mix.parameters()) == 12 + 1


@pytest.mark.parametrize("features", EVERY)
def test_the_trained_parameters_are_those_of_mix_bilstm_and_head(features: Features) -> None:
    model = tagger(features)
    trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
    width, layers = feature_width(ARM, features), len(layers_read(features, ARM.depth))
    mixed = layers + 1 if features in ("sum_last_four", "weighted_sum_all") else 0
    assert trained == lstm_parameters(width, 6, 2) + mixed + (2 * 6 * 3 + 3)


@pytest.mark.parametrize("features", EVERY)
def test_the_encoder_has_no_gradient_and_every_other_parameter_has_one(features: Features) -> None:
    model = tagger(features)
    tokens, segments, mask = inputs()
    tags = torch.where(mask, tokens % 3, NO_TAG)
    model.train().loss(tokens, segments, mask, tags).backward()
    assert all(each.grad is None for each in model.encoder.parameters())
    others = {name: each for name, each in model.named_parameters() if not name.startswith("encoder.")}
    # the weights of a mix of one layer are one whatever they are
    assert all(each.grad is not None and each.grad.abs().max() > 0 for name, each in others.items())


def test_an_update_leaves_the_encoder_bit_identical_and_its_dropout_off() -> None:
    model = tagger("concat_last_four", dropout=0.5)
    before = {name: each.clone() for name, each in model.encoder.state_dict().items()}
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)
    tokens, segments, mask = inputs()
    tags = torch.where(mask, tokens % 3, NO_TAG)
    for _ in range(3):
        optimiser.zero_grad(set_to_none=True)
        model.train().loss(tokens, segments, mask, tags).backward()
        optimiser.step()
    assert not model.encoder.training
    assert model.lstm.training
    after = model.encoder.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())


def test_padding_changes_no_prediction_and_the_bilstm_reads_both_directions() -> None:
    model = tagger("last").eval()
    tokens, segments, mask = inputs()
    longer = [torch.cat([each, torch.zeros_like(each[:, :3])], 1) for each in (tokens, segments, mask)]
    with torch.no_grad():
        plain, padded = model(tokens, segments, mask), model(*longer)
    assert torch.allclose(plain[mask], padded[:, :LENGTH][mask], atol=1e-5)
    x = torch.randn(1, 5, ARM.width, requires_grad=True)
    outputs = model.lstm.read(x, torch.ones(1, 5, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(outputs[0, 2].sum(), x)
    assert (gradient[0].abs().amax(-1) > 0).all()


def test_a_sequence_is_classified_by_its_pooled_outputs() -> None:
    model = build_feature_model(ARM, "single", 2, FeatureReader("second_to_last", 6, 1), "mean", 0.0)
    initialise(model, 1)
    tokens, segments, mask = inputs()
    loss = model.train().loss(tokens, segments, mask, torch.tensor([[0], [1], [1]]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2), abs=0.2)
    assert model(tokens, segments, mask).shape == (3, 2)
