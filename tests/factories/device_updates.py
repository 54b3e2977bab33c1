"""Updates of small candidates on the emulated device: what each option of the search space costs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from runners.training.loop import Step, TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.candidate import Candidate
from search_space.convolution.option import ConvolutionOption
from search_space.corruption.option import CorruptionOption
from search_space.objective import MaskedLanguageModel, ReplacedTokenDetection
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.recipe import Recipe
from search_space.released.models import PRESETS
from search_space.selection.option import SelectionOption
from steeplechase.foundation.schema import options_of
from steeplechase.tasks.contracts.candidates import model_of
from steeplechase.tasks.contracts.small_candidates import LENGTH, PLACED, WORDS, placed, sequences, small_candidate
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from tests.factories.emulated_calls import emulation
from tests.factories.emulated_device import Counts, moved

ON_HOST = (SelectionOption, CorruptionOption)
FEW = {"precision": "bfloat16", "batch_sequences": 1, "sequence_length": LENGTH}
OPTIMISERS = ("adam", "sgd", "lamb")


class Lesson(NamedTuple):
    """A model with what trains it."""

    model: PretrainingModel[Any]
    data: TrainingData
    optimiser: torch.optim.Optimizer


class Update(NamedTuple):
    """Losses of two updates, and what the second asked of the device."""

    losses: list[float]
    counts: Counts


def candidates() -> Iterator[tuple[str, Candidate]]:
    """Yield a small candidate with each option of a placed axis, each convolution, and some recipes, by title.

    Those of objectives have two blocks, the others one, since every block makes the same launches. Selections and
    corruptions are made on the host: each objective has one.
    """
    for axis in PLACED:
        for kind in options_of(axis) if axis not in ON_HOST else ():
            candidate = placed(kind(**kind.examples[0]))
            if candidate is not None and not [*candidate.violations()]:
                title = f"{axis.package.rpartition('.')[2]} {kind.__name__} 0"
                yield title, candidate if axis is PretrainingObjective else of_one_block(candidate)
    for kind in options_of(ConvolutionOption):
        option = kind(**kind.examples[0])
        yield (
            f"convolution {kind.__name__} 0",
            small_candidate(MaskedLanguageModel(), depth=1, convolution=option, bottleneck_ratio=2),
        )
    for settings in ({"micro_batches": 3}, *({"optimiser": kind} for kind in OPTIMISERS)):
        yield f"recipe {settings}", with_recipe(small_candidate(ReplacedTokenDetection(), depth=1), **settings)


def of_one_block(candidate: Candidate) -> Candidate:
    """Return the candidate with one block."""
    return candidate.model_copy(update={"architecture": candidate.architecture.model_copy(update={"depth": 1})})


def released(name: str, **recipe: object) -> Candidate:
    """Return a released model in bfloat16 with few tokens and narrow: launches do not depend on either."""
    candidate = with_recipe(PRESETS[name].candidate, **{**FEW, **recipe})
    width = 16 * candidate.architecture.heads
    sizes = {"vocabulary_size": WORDS.vocabulary_size, "width": width, "feed_forward_width": 4 * width}
    if candidate.architecture.embedding_width == candidate.architecture.width:
        sizes["embedding_width"] = width
    return candidate.model_copy(update={"architecture": candidate.architecture.model_copy(update=sizes)})


def with_recipe(candidate: Candidate, **changes: object) -> Candidate:
    """Return the candidate with other settings of its recipe."""
    recipe = Recipe.model_validate({**candidate.recipe.model_dump(), **changes})
    return candidate.model_copy(update={"recipe": recipe})


def lesson_of(candidate: Candidate) -> Lesson:
    """Return a new model of a candidate on the device."""
    model = moved(model_of(candidate))
    data = TrainingData(candidate, sequences(candidate.objective, LENGTH), WORDS, 1, 1e9)
    return Lesson(model, data, build_optimiser(model, candidate.recipe))


def updated(candidate: Candidate, on_device: bool, updates: int = 2, length: int = LENGTH) -> Update:
    """Return the first updates of a candidate on sequences of a length, and what the last of them cost."""
    torch.manual_seed(0)
    model = model_of(candidate)
    data = TrainingData(candidate, sequences(candidate.objective, length), WORDS, 1, 1e9)
    steps: list[Step] = []

    def run(counts: Counts) -> Update:
        optimiser = build_optimiser(model, candidate.recipe)
        train(model, data, optimiser, range(updates - 1), steps.append)
        counts.clear()
        train(model, data, optimiser, range(updates - 1, updates), steps.append)
        return Update([step.loss for step in steps], counts)

    if not on_device:
        return run(Counts())
    moved(model)
    with emulation() as counts:
        return run(counts)
