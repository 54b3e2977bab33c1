"""Output layers of language models: counts, probabilities, losses, and torch's adaptive softmax as oracle."""

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel, MaskedLanguageModel
from search_space.output_layer import AdaptiveSoftmax, EmbeddingTable, SoftCapped, Transformed, Untied
from search_space.output_layer.option import OutputLayerOption
from steeplechase.foundation.schema import options_of
from steeplechase.models.initialisation import initialise
from steeplechase.models.output_layer import build_output_layer
from steeplechase.tasks.objectives import build_model
from tests.factories.small_experiments import stir

VOCABULARY, WIDTH, CUTOFFS = 40, 8, (10, 25)
ARCHITECTURE = Architecture(width=WIDTH, embedding_width=WIDTH, heads=2, vocabulary_size=VOCABULARY)
OPTIONS: tuple[OutputLayerOption, ...] = (
    Transformed(),
    EmbeddingTable(),
    AdaptiveSoftmax(cutoffs=CUTOFFS),
    Untied(),
    SoftCapped(cap=2.0),
)
every_option = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: str(option.kind))


def head_of(option: OutputLayerOption, dtype: torch.dtype = torch.float64) -> nn.Module:
    head = nn.ModuleDict({"head": build_output_layer(option, ARCHITECTURE)})
    initialise(head, 1)
    stir(head)
    return head.to(dtype)["head"]


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_every_option_is_tested() -> None:
    assert {type(option) for option in OPTIONS} == {*options_of(OutputLayerOption)}


@every_option
def test_the_loss_is_the_cross_entropy_of_its_probabilities(option: OutputLayerOption) -> None:
    """Values and gradients; targets lie in every cluster, and then in one alone."""
    head, x, table = head_of(option), drawn(30, WIDTH), drawn(VOCABULARY, WIDTH, seed=2)
    everywhere = torch.randint(VOCABULARY, (30,), generator=torch.Generator().manual_seed(3))
    for targets in (everywhere, everywhere % CUTOFFS[0], torch.full((30,), VOCABULARY - 1)):
        found = []
        for by_loss in (True, False):
            leaves = [each.clone().requires_grad_() for each in (x, table)]
            logits = head(*leaves)
            loss = head.loss(*leaves, targets)[0] if by_loss else nn.functional.cross_entropy(logits, targets)
            gradients = torch.autograd.grad(loss, [*leaves, *head.parameters()], materialize_grads=True)
            found.append([loss, *gradients])
        for one, other in zip(*found, strict=True):
            assert torch.allclose(one, other, atol=1e-6)  # the fused cross-entropy is in float32
    assert torch.allclose(logits.softmax(-1).sum(-1), torch.ones(30, dtype=torch.float64))


def test_the_adaptive_softmax_equals_that_of_torch() -> None:
    """torch's has no bias inside clusters, and a map per cluster, which is the identity here."""
    head, x, table = head_of(OPTIONS[2]), drawn(30, WIDTH), drawn(VOCABULARY, WIDTH, seed=2)
    oracle = nn.AdaptiveLogSoftmaxWithLoss(WIDTH, VOCABULARY, [*CUTOFFS], div_value=1.0, head_bias=True).double()
    with torch.no_grad():
        head.words.bias[CUTOFFS[0] :] = 0
        oracle.head.weight.copy_(torch.cat([table[: CUTOFFS[0]], head.cluster_weight]))
        oracle.head.bias.copy_(torch.cat([head.words.bias[: CUTOFFS[0]], head.cluster_bias]))
        for tail, (start, end) in zip(oracle.tail, ((10, 25), (25, 40)), strict=True):
            tail[0].weight.copy_(torch.eye(WIDTH))
            tail[1].weight.copy_(table[start:end])
        assert torch.allclose(head(x, table), oracle.log_prob(x), atol=1e-6)
        head.cluster_bias += 1e-3
        assert not torch.allclose(head(x, table), oracle.log_prob(x), atol=1e-6)


def test_capped_logits_are_the_plain_ones_within_their_bound() -> None:
    x, table = drawn(30, WIDTH), drawn(VOCABULARY, WIDTH, seed=2)
    plain, capped, wide = (
        head_of(each)(x, table) for each in (Transformed(), SoftCapped(cap=2.0), SoftCapped(cap=1e9))
    )
    assert plain.abs().max() > 2 >= capped.abs().max()
    assert torch.allclose(capped, 2 * torch.tanh(plain / 2))
    assert torch.allclose(wide, plain)


@pytest.mark.parametrize("option", [Untied(), SoftCapped()], ids=lambda option: str(option.kind))
def test_masked_language_modelling_has_the_parameters_of_its_output_layer(option: OutputLayerOption) -> None:
    objective = MaskedLanguageModel(output_layer=option)
    model = build_model(Candidate(architecture=ARCHITECTURE, objective=objective), None, 1)
    heads = sum(value.numel() for value in model.head.parameters())
    assert heads == objective.head_parameters(ARCHITECTURE, None)
    shared = VOCABULARY * WIDTH if isinstance(option, Untied) else WIDTH * (WIDTH + 3)
    assert heads == shared + VOCABULARY


@pytest.mark.parametrize(
    ("architecture", "option", "message"),
    [
        (
            Architecture(),
            EmbeddingTable(),
            "embeddings needs embedding_width equal to width, and they are 128 and 256",
        ),
        (ARCHITECTURE, AdaptiveSoftmax(cutoffs=(25, 10)), "adaptive cutoffs 25, 10 do not increase"),
        (ARCHITECTURE, AdaptiveSoftmax(cutoffs=(10, 40)), "adaptive cutoff 40 is not below the vocabulary_size 40"),
    ],
)
def test_what_an_output_layer_needs_is_one_line(
    architecture: Architecture, option: OutputLayerOption, message: str
) -> None:
    causal = architecture.model_copy(update={"visibility": "left_to_right"})
    for objective in (LanguageModel(output_layer=option), MaskedLanguageModel(output_layer=option)):
        candidate = Candidate(architecture=causal, objective=objective)
        (violation,) = (each for each in candidate.violations() if each.path == ("objective", "output_layer"))
        assert violation.message.startswith(message)
