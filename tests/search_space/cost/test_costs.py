"""Costs in closed form equal those of the built module, for every option, axis and random layer program."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import Convolution
from search_space.layer_program import Parallel
from search_space.objective import MaskedLanguageModel, Objective, ReplacedTokenDetection
from search_space.packing.stream import Batches
from search_space.program_parser import parse_program
from search_space.recipe import Recipe
from steeplechase.models.encoder import Encoder
from steeplechase.models.kernels import window
from steeplechase.models.sublayer.recurrent import RecurrentWeights
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.objectives import build_model
from tests.factories.programs import any_architectures
from tests.factories.small_experiments import WORDS, architecture, architectures, convolutions, generators, of_table_2


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@given(architectures())
@settings(max_examples=25)
def test_the_closed_form_counts_the_parameters_of_the_encoder(drawn: Architecture) -> None:
    assert list(drawn.violations()) == []
    with torch.device("meta"):
        assert parameters(Encoder(drawn, 0.0)) == drawn.parameters


@st.composite
def detections(draw: st.DrawFn) -> Objective:
    """Draw a generator of any width that shares what models of different widths can share."""
    return ReplacedTokenDetection(
        generator=draw(st.sampled_from(("baseline", "own"))),
        generator_ratio=draw(st.integers(1, 5)),
        generator_sharing=draw(st.sampled_from(("none", "token_embeddings", "embeddings"))),
    )


@st.composite
def taught(draw: st.DrawFn) -> tuple[Candidate, Architecture]:
    """Draw a candidate and a baseline that differs from it in any size at all."""
    objective = draw(st.one_of(st.just(MaskedLanguageModel()), detections(), st.sampled_from(generators())))
    drawn = Candidate(architecture=draw(architectures()), objective=objective, recipe=Recipe(dropout=0.0))
    return drawn, draw(architectures())


@given(taught())
@settings(max_examples=25)
def test_the_closed_form_counts_the_objectives_heads_and_a_generator_has_its_arms_embedding_sizes(
    drawn: tuple[Candidate, Architecture],
) -> None:
    candidate, baseline = drawn
    generator = candidate.objective.generator_of(candidate.architecture, baseline)
    model = build_model(candidate, generator, 1)
    added = parameters(model) - parameters(model.encoder)
    assert candidate.objective.head_parameters(candidate.architecture, generator) == added
    if generator is not None:
        assert generator == generator.with_embeddings_of(candidate.architecture)
        assert generator.embedding_width == candidate.architecture.embedding_width


@given(architectures(), st.integers(1, 8))
@example(Architecture(width=384, heads=6, bottleneck_ratio=2), 2)  # three heads are left, and γ at 2
@example(Architecture(width=384, heads=12, bottleneck_ratio=1.5), 2)  # six heads are left, of which γ keeps four
@example(Architecture(width=384, heads=12, bottleneck_ratio=1.5), 3)  # four heads are left, and γ is 1
@example(Architecture(feed_forward_groups=2), 3)  # a third of 1024 is odd
@settings(max_examples=40)
def test_a_generator_is_a_valid_architecture(drawn: Architecture, ratio: int) -> None:
    generator = drawn.shrunk(ratio)
    assert list(generator.violations()) == []
    assert generator.width // generator.heads == drawn.width // drawn.heads
    assert generator.embedding_parameters - drawn.embedding_parameters == projection(generator) - projection(drawn)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 40), st.integers(1, 6))
@example(4, 8, 5, 2)
def test_a_generator_of_more_heads_than_channels_can_be_built(
    heads: int, key_width: int, width: int, ratio: int
) -> None:
    sizes = {"width": width, "embedding_width": 4, "feed_forward_width": 8, "vocabulary_size": 7, "depth": 1}
    generator = Architecture(**sizes, heads=4 * heads, key_width=key_width, value_width=1).shrunk(ratio)
    assert list(generator.violations()) == []
    with torch.device("meta"):
        assert parameters(Encoder(generator, 0.0)) == generator.parameters


@pytest.mark.parametrize("ratio", [1, 2, 4, 16])
def test_a_generator_has_smaller_branches_as_it_has_smaller_sublayers(ratio: int) -> None:
    settings_of = [("s(heads=4)", "f(width=96)"), ("r(hidden_width=12)", "<lin:0.5:relu>"), ("g", "s(heads=8)")]
    branches, alone = ("".join(form.format(*pair) for pair in settings_of) for form in ("[{}|{}]", "{} {} "))
    of_branches, of_alone = (parse_program(text).shrunk(ratio, Architecture(heads=4)) for text in (branches, alone))
    inside = [each for item in of_branches.items if isinstance(item, Parallel) for each in item.branches]
    assert inside == list(of_alone.items)


def projection(drawn: Architecture) -> int:
    return 0 if drawn.width == drawn.embedding_width else (drawn.embedding_width + 1) * drawn.width


def window_operations(drawn: Architecture, length: int) -> int:
    """Return the elementwise operations of the branches, which counters of matmuls omit."""
    convolution = drawn.convolution
    counted = convolution.elementwise_flops(drawn.attention_shape)
    if counted is None:
        pytest.skip(f"{convolution.kind} does not declare elementwise_flops")
    return length * drawn.depth * counted


@pytest.mark.parametrize(("bottleneck_ratio", "groups"), [(1, 1), ("4/3", 2)])
@pytest.mark.parametrize("convolution", convolutions(), ids=lambda option: option.kind)
def test_the_closed_form_counts_the_matmuls_of_the_encoder(
    convolution: Convolution, bottleneck_ratio: int | str, groups: int
) -> None:
    drawn = architecture(convolution, groups).model_copy(update={"bottleneck_ratio": bottleneck_ratio})
    batch, length = 3, 20
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.device("meta"):
        Encoder(drawn, 0.0)(torch.zeros(batch, length, dtype=torch.long))
    counted = batch * (drawn.forward_flops(length) - window_operations(drawn, length))
    assert counter.get_total_flops() == counted


@pytest.mark.parametrize("stored", [1, 2, 4])
def test_rotary_positions_turn_the_queries_and_the_keys_that_are_stored(stored: int) -> None:
    rotary, none = (
        Architecture(width=24, heads=4, depth=2, key_value_heads=stored, position=kind).forward_flops(7)
        for kind in ("rotary", "none")
    )
    assert rotary - none == 7 * 2 * (4 + stored) * 6 * 2  # positions, layers, heads, channels of a head, products


@pytest.mark.parametrize("convolution", of_table_2(convolutions()), ids=lambda option: option.kind)
@pytest.mark.parametrize("objective", [MaskedLanguageModel(), ReplacedTokenDetection()], ids=lambda each: each.kind)
def test_the_closed_form_counts_the_matmuls_of_pretraining(objective: Objective, convolution: Convolution) -> None:
    recipe = Recipe(sequence_length=16, batch_sequences=3, dropout=0.0)
    candidate = Candidate(architecture=architecture(convolution), objective=objective, recipe=recipe)
    generator = objective.generator_of(candidate.architecture, candidate.architecture)
    model = build_model(candidate, generator, 1)
    batch = Batches(text(), WORDS, 16).at(0, 3, 1)
    masked = model.prepare(batch, WORDS, np.random.default_rng(1))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model.loss(masked, np.random.default_rng(1)).backward()
    windows = sum(window_operations(each, 16) for each in (candidate.architecture, generator) if each is not None)
    closed = candidate.train_flops(recipe.tokens_per_step, candidate.architecture) - 3 * 3 * windows
    assert counter.get_total_flops() == pytest.approx(closed, rel=0.01)


BATCH, LENGTH = 3, 7


class Uncounted:
    """Counts what torch's counter leaves out: window sums and an LSTM's matrix products."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flops = 0

        def counted_depthwise(values: Tensor, kernel: Tensor) -> Tensor:
            self.flops += 2 * values.numel() * len(kernel)
            return torch.empty_like(values)

        def counted_dynamic(values: Tensor, kernels: Tensor) -> Tensor:
            self.flops += 2 * values.numel() * kernels.shape[-1]
            return torch.empty_like(values)

        def counted_lstm(module: RecurrentWeights, x: Tensor) -> tuple[Tensor, None]:
            matrices = sum(each.numel() for each in module.parameters() if each.ndim > 1)
            self.flops += 2 * x.shape[0] * x.shape[1] * matrices
            directions = 2 if module.bidirectional else 1
            return x.new_empty(*x.shape[:2], directions * module.hidden_size), None

        monkeypatch.setattr(window.portable, "depthwise_window_sum", counted_depthwise)
        monkeypatch.setattr(window.portable, "weighted_window_sum", counted_dynamic)
        for name in ("extended", "inside"):  # what the implementation of a causal window computes too much
            monkeypatch.setattr(window, name, lambda x, shift: x)
        monkeypatch.setattr(RecurrentWeights, "forward", counted_lstm)


@given(any_architectures())
@settings(max_examples=25)
def test_the_closed_form_counts_any_program(drawn: Architecture) -> None:
    """Parameters to the unit, and the operations of matrix products exactly."""
    assert list(drawn.violations()) == []
    with torch.device("meta"):
        encoder = Encoder(drawn, 0.0)
    assert parameters(encoder) == drawn.parameters
    assert sum(value.numel() for value in encoder.state_dict().values()) == drawn.parameters
    assert len(encoder.blocks) == drawn.depth
    with pytest.MonkeyPatch.context() as patch:
        uncounted = Uncounted(patch)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.device("meta"):
            encoder(torch.zeros(BATCH, LENGTH, dtype=torch.long))
    products = sum(2 * part.copies * part.operations.multiply_adds * LENGTH for part in drawn.parts(LENGTH))
    assert counter.get_total_flops() + uncounted.flops == BATCH * products
