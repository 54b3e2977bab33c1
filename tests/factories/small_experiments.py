"""Small things of every kind that many tests are about: options, architectures, candidates, words and text."""

from fractions import Fraction
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import BaseModel, TypeAdapter
from torch import nn

from search_space.architecture import Architecture
from search_space.bottleneck import written
from search_space.candidate import Candidate
from search_space.convolution import (
    Convolution,
    Depthwise,
    Dynamic,
    GatedDynamic,
    Lightweight,
    NoConvolution,
    SpanDynamic,
)
from search_space.convolution.kernel import WithKernel
from search_space.convolution.option import ConvolutionOption
from search_space.objective import (
    AllTokensMaskedLanguageModel,
    Combined,
    Electra15Percent,
    EntityReplacement,
    LanguageModel,
    MaskedLanguageModel,
    NextSentencePrediction,
    Objective,
    ReplacedTokenDetection,
    ReplaceMaskedLanguageModel,
    SentenceOrderPrediction,
    SentenceStructure,
    SpanBoundary,
    Supersense,
    WordStructure,
)
from search_space.objective.generator_training import GeneratorTraining
from search_space.objective.generator_training.option import GeneratorTrainingOption
from search_space.packing.sequences import Sequences, SequenceSource
from search_space.recipe import Recipe
from search_space.schedule import ConstantSchedule
from search_space.visibility import WINDOWS
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import options_of
from steeplechase.tasks.contracts import small_candidates as contract_text
from steeplechase.tasks.contracts.small_candidates import WORDS
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives import build_model, model_class
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource, PretrainingModel
from steeplechase.tasks.progress import silent

GROUPS = (1, 2)
TABLE_2 = (NoConvolution, Depthwise, Lightweight, Dynamic, GatedDynamic, SpanDynamic)
SPAN_DYNAMIC = SpanDynamic(kernel_size=5)
CONVOLUTION: TypeAdapter[Convolution] = TypeAdapter(Convolution)
TRAINING_SETTINGS = {"two_stage": {"generator_tokens": 7 * 64}}
"""Of the options without defaults, by kind; an update of `candidate` has 64 tokens."""
OBJECTIVES: tuple[Objective, ...] = (
    MaskedLanguageModel(),
    ReplacedTokenDetection(generator_ratio=2),
    LanguageModel(),
    Electra15Percent(generator_ratio=2),
    ReplaceMaskedLanguageModel(generator_ratio=2),
    SpanBoundary(span_positions=4, position_width=8),
    NextSentencePrediction(),
    SentenceOrderPrediction(),
    SentenceStructure(),
    WordStructure(shuffle_rate=0.3),
    AllTokensMaskedLanguageModel(generator_ratio=2),
    Combined(parts=(WordStructure(shuffle_rate=0.3), SentenceStructure())),
    Supersense(),
    EntityReplacement(mask_rate=0.15),
)
PAPERS = OBJECTIVES[:2]
"""Masked language modelling and replaced token detection: the objectives of ConvBERT and ELECTRA."""
SUPERSENSES = np.arange(WORDS.vocabulary_size)[:, None] % 5 == np.arange(3)  # three of five words have one of three
OWN = {"generator": "own", "generator_ratio": 1}
TRAINING: TypeAdapter[GeneratorTraining] = TypeAdapter(GeneratorTraining)


def generators() -> list[Objective]:
    """Return replaced token detection with every sharing, every training and without a network."""
    kinds = [option.model_fields["kind"].default for option in options_of(GeneratorTrainingOption)]
    settings = [{"generator_sharing": sharing} for sharing in ("none", "token_embeddings")]
    settings += [{**OWN, "generator_sharing": "all"}, {"generator": "unigram"}]
    for kind in kinds:
        training = TRAINING.validate_python({"kind": kind, **TRAINING_SETTINGS.get(kind, {})})
        equal = {**OWN, "generator_sharing": "none"} if training.needs_equal_sizes else {}
        settings.append({"generator_training": training, **equal})
    return [ReplacedTokenDetection(**{"generator_ratio": 2, **each}) for each in settings]


def objective_title(objective: Objective) -> str:
    """Return a name that tells the objectives above apart."""
    settings = canonical(objective)
    training = settings.pop("generator_training", {})
    kinds = training.values() if isinstance(training, dict) else ()
    return " ".join(str(each) for each in (*settings.values(), *kinds) if isinstance(each, str))


def convolutions(kernel_size: int = 5) -> list[Convolution]:
    """Return one convolution of every option, those with a kernel at this size."""
    others = [option for option in options_of(ConvolutionOption) if option not in TABLE_2]
    return [convolution(option, kernel_size) for option in (*TABLE_2, *others)]


def variants(kernel_size: int = 5) -> list[Convolution]:
    """Return every option at its defaults, then at its other examples; padding leaks in none."""
    every = convolutions(kernel_size)
    return [*every, *(each.model_copy(update={**more}) for each in every for more in each.examples if more)]


def of_table_2(convolutions: list[Convolution]) -> list[Convolution]:
    """Return the options of ConvBERT's Table 2: those whose equations, curves and charges the tests have."""
    return [each for each in convolutions if isinstance(each, TABLE_2)]


def leaking(kernel_size: int = 5) -> list[Convolution]:
    """Return the options into which padding leaks, as in ConvBERT's release: no contract about padding holds."""
    released = SpanDynamic(kernel_size=kernel_size, padding="as_released")
    return [released, released.model_copy(update={"value": "shared"})]


def title(convolution: Convolution) -> str:
    """Return a name that tells the options above apart."""
    choices = (getattr(convolution, name, "") for name in ("value", "padding"))
    return " ".join([convolution.kind, *(each for each in choices if each in ("shared", "as_released"))])


def convolution(option: type[BaseModel], kernel_size: int) -> Convolution:
    """Return an option, with this kernel size where it has one."""
    document: dict[str, object] = {"kind": option.model_fields["kind"].default}
    if issubclass(option, WithKernel):
        document["kernel_size"] = kernel_size
    return CONVOLUTION.validate_python(document)


def architecture(convolution: Convolution, groups: int = 1) -> Architecture:
    """Return two blocks that use every part: factorised embeddings, a bottleneck, several heads."""
    return Architecture(
        depth=2,
        width=24,
        embedding_width=12,
        heads=4,
        bottleneck_ratio=2,
        convolution=convolution,
        feed_forward_width=32,
        feed_forward_groups=groups,
        vocabulary_size=WORDS.vocabulary_size,
        positions=32,
    )


def candidate(convolution: Convolution, objective: Objective, dropout: float = 0.0) -> Candidate:
    """Return a candidate that learns in a few steps."""
    recipe = Recipe(
        sequence_length=16,
        batch_sequences=4,
        peak_learning_rate=5e-3,
        schedule=ConstantSchedule(warmup_tokens=256),
        dropout=dropout,
    )
    return Candidate(architecture=suited(architecture(convolution), objective), objective=objective, recipe=recipe)


def suited(sizes: Architecture, objective: Objective) -> Architecture:
    """Return the architecture with a visibility that the objective can train, and supersenses if it needs them."""
    if [*objective.needs(sizes)]:
        sizes = sizes.model_copy(update={"supersenses": SUPERSENSES.shape[1]})
    return visible(sizes, objective)


def visible(sizes: Architecture, objective: Objective) -> Architecture:
    """Return the architecture with a visibility that the objective can train, its convolution's window with it."""
    if sizes.visibility in objective.visibilities:
        return sizes
    visibility, convolution = objective.visibilities[0], sizes.convolution
    if isinstance(convolution, WithKernel):
        convolution = convolution.model_copy(update={"window": WINDOWS[visibility][0]})
    return sizes.model_copy(update={"visibility": visibility, "convolution": convolution})


def sequences_of(tokens: NDArray[np.int64], seed: int = 1) -> Sequences:
    """Return sequences with these tokens, the first ones of a text, in its first epoch."""
    return Sequences(tokens, np.arange(len(tokens)), np.zeros(len(tokens), np.int64), seed)


def batches_of(objective: Objective, length: int = 16) -> SequenceSource:
    """Return the sequences of the small text that the objective is prepared from."""
    return contract_text.sequences(objective, length)


def built(learner: Candidate, seed: int = 1) -> PretrainingModel[Any]:
    """Return the candidate's model, with the generator of its own architecture and supersenses of `WORDS`."""
    model = build_model(learner, learner.objective.generator_of(learner.architecture, learner.architecture), seed)
    if learner.architecture.supersenses:
        model.encoder.embeddings.supersenses.allow(torch.from_numpy(SUPERSENSES))
    return model


def evaluation_set_of(learner: Candidate, rows: int, seed: int = 1) -> EvaluationSet:
    """Return the evaluation set that the candidate's objective makes, by an untrained generator if it needs one."""
    objective = learner.objective
    generator = objective.reference_generator(learner.architecture)
    changes = {"architecture": generator or learner.architecture, "objective": objective.reference}
    reference = learner.model_copy(update=changes)
    sequences = batches_of(objective.reference, learner.recipe.sequence_length).at(0, rows, seed)
    model = None if generator is None else build_model(reference, None, seed)
    return model_class(objective.evaluation).evaluation_set(
        EvaluationSource(reference, sequences, WORDS, model, silent)
    )


def divisors(whole: int) -> list[int]:
    """Return every divisor, the smallest first."""
    return [divisor for divisor in range(1, whole + 1) if whole % divisor == 0]


@st.composite
def architectures(draw: st.DrawFn) -> Architecture:
    """Draw sizes that obey the rules."""
    heads = draw(st.integers(1, 6))
    width = heads * draw(st.integers(1, 8))
    groups = draw(st.sampled_from(divisors(width)))
    kernel_size = 2 * draw(st.integers(0, 6)) + 1
    return Architecture(
        depth=draw(st.integers(1, 3)),
        width=width,
        embedding_width=draw(st.one_of(st.just(width), st.integers(1, 16))),
        heads=heads,
        bottleneck_ratio=written(Fraction(heads, draw(st.integers(1, heads)))),
        convolution=draw(st.sampled_from([*variants(kernel_size), *leaking(kernel_size)])),
        feed_forward_width=groups * draw(st.integers(1, 12)),
        feed_forward_groups=groups,
        vocabulary_size=draw(st.integers(5, 60)),
        positions=draw(st.integers(16, 40)),
        segments=draw(st.integers(1, 3)),
        supersenses=draw(st.sampled_from([0, 0, 7])),
    )


def stir(module: nn.Module, seed: int = 1) -> None:
    """Move every parameter well away from where it starts, so that each one is seen in the output."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
