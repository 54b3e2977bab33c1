"""Pruned models: a model with scales of 0 equals the smaller model, whose size is the closed form's."""

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.normalisation import PostNorm, PreNorm
from search_space.objective.segment_pair import NextSentencePrediction
from search_space.pruning import DIMENSIONS, Dimension, Group, groups, remaining
from steeplechase.models.pruning import PrunableModel, live_units
from steeplechase.tasks.objectives import build_model

SMALL = Architecture(
    depth=2, width=12, embedding_width=12, heads=3, feed_forward_width=10, vocabulary_size=23, positions=9
)
EACH: list[tuple[Dimension, ...]] = [DIMENSIONS, *((dimension,) for dimension in DIMENSIONS)]
TOLERANCE = 1e-5


def built(architecture: Architecture) -> nn.Module:
    """Return a model of both objectives with random weights, biases and gains."""
    model = build_model(Candidate(architecture=architecture, objective=NextSentencePrediction()), None, 1)
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.rand_like(parameter) + 0.5 if parameter.ndim == 1 else torch.randn_like(parameter))
    return model.eval()


def outputs(model: nn.Module) -> Tensor:
    """Return the logits of both heads for a batch with padding, without those at padding."""
    tokens = torch.arange(18).view(2, 9) % 23
    padding_mask = torch.arange(9)[None] < torch.tensor([9, 5])[:, None]
    hidden = model.encoder(tokens, tokens % 2, padding_mask)  # type: ignore[operator]
    logits = model.head(hidden[padding_mask], model.token_table)  # type: ignore[operator]
    return torch.cat([logits.flatten(), model.pair_head(hidden).flatten()])  # type: ignore[operator]


def random_scales(model: PrunableModel[Tensor], dimensions: tuple[Dimension, ...]) -> dict[Group, Tensor]:
    """Return random scales of which a third are 0, and at least one of a group is not."""
    torch.manual_seed(3)
    scales = {}
    for group, ones in model.ones(dimensions).items():
        scales[group] = (ones + torch.rand_like(ones)) * (torch.arange(group.size) % 3 != (group.block or 0) % 2)
    return scales


def small_twin(model: PrunableModel[Tensor], scales: dict[Group, Tensor]) -> nn.Module:
    """Return the compressed model, built of the architecture that remains."""
    architecture = remaining(model.architecture, {group: int((each != 0).sum()) for group, each in scales.items()})
    twin = built(architecture)
    twin.load_state_dict(model.compressed(scales))
    return twin


@pytest.mark.parametrize("dimensions", EACH, ids=lambda names: "+".join(names) if len(names) == 1 else "all")
@pytest.mark.parametrize("normalisation", [PostNorm(), PreNorm()], ids=lambda option: option.kind)
def test_a_scaled_model_equals_the_compressed_one(
    dimensions: tuple[Dimension, ...], normalisation: PostNorm | PreNorm
) -> None:
    architecture = SMALL.model_copy(update={"normalisation": normalisation})
    model = PrunableModel[Tensor](built(architecture), architecture)
    scales = random_scales(model, dimensions)
    twin = small_twin(model, scales)
    expected = model.evaluate(scales, outputs)
    assert (outputs(twin) - expected).abs().max() < TOLERANCE * expected.abs().max()
    weights = sum(parameter.numel() for parameter in twin.encoder.parameters())  # type: ignore[operator]
    assert weights == twin.encoder.architecture.parameters < architecture.parameters  # type: ignore[union-attr]


def test_factorised_embeddings_keep_their_width() -> None:
    architecture = SMALL.model_copy(update={"embedding_width": 5})
    model = PrunableModel[Tensor](built(architecture), architecture)
    scales = random_scales(model, ("heads", "key_width", "value_width", "feed_forward_width"))
    expected = model.evaluate(scales, outputs)
    assert (outputs(small_twin(model, scales)) - expected).abs().max() < TOLERANCE * expected.abs().max()


@pytest.mark.parametrize("share", [0.99, 0.8, 0.5])
@pytest.mark.parametrize("dimensions", EACH[:1], ids=["all"])
def test_the_target_is_met_from_below_by_less_than_one_unit(share: float, dimensions: tuple[Dimension, ...]) -> None:
    torch.manual_seed(5)
    scales = {group: torch.rand(group.size) + 0.1 for group in groups(SMALL, dimensions)}
    target = int(share * SMALL.parameters)
    live = live_units(SMALL, scales, target)
    removed = [(scales[group][unit], group, unit) for group, kept in live.items() for unit in (~kept).nonzero()[:, 0]]
    sizes = {group: int(kept.sum()) for group, kept in live.items()}
    assert all(sizes.values())
    assert remaining(SMALL, sizes).parameters <= target
    _, last, _ = max(removed, key=lambda one: float(one[0]))
    assert remaining(SMALL, {**sizes, last: sizes[last] + 1}).parameters > target
    kept_scales = [scales[group][kept].min() for group, kept in live.items() if kept.sum() > 1]
    assert max(float(one[0]) for one in removed) <= float(min(kept_scales))
