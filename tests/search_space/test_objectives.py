"""Every objective of the folder has a module, costs in closed form equal to those of that module, an evaluation."""

from pathlib import Path

import pytest

from search_space.objective import MaskedLanguageModel, Objective, ReplacedTokenDetection, SpanBoundary, WordStructure
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.replaced_tokens import ReplacedTokens
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import options_of
from steeplechase.tasks import objectives as modules
from tests.factories.small_experiments import OBJECTIVES, candidate, convolutions, generators, objective_title

KINDS = sorted(option.model_fields["kind"].default for option in options_of(PretrainingObjective))
REQUIRED = {"combined": {"parts": (WordStructure(), SpanBoundary())}}
"""By kind, values of the fields that have no default."""
every_objective = pytest.mark.parametrize("objective", [*OBJECTIVES, *generators()], ids=objective_title)


def files(package: object) -> set[str]:
    return {path.stem for path in Path(str(package.__file__)).parent.glob("*.py")}


def test_every_kind_has_a_module_and_is_tested() -> None:
    assert set(KINDS) <= files(modules)
    # tests/tasks/objectives/test_denoising.py, test_mixed_visibility.py, test_permutation.py: they fit no convolution
    of_their_own = {"denoising", "mixed_visibility", "permutation_language_model"}
    assert sorted({objective.kind for objective in OBJECTIVES} | of_their_own) == KINDS


@every_objective
@pytest.mark.parametrize("length", [3, 16, 128, 512])
def test_predictions_leave_the_two_special_tokens(objective: Objective, length: int) -> None:
    assert 1 <= objective.predictions(length) <= length - 2


@every_objective
def test_the_evaluation_is_that_of_an_objective_and_its_reference_makes_it(objective: Objective) -> None:
    assert isinstance(objective, PretrainingObjective)
    assert objective.evaluation in KINDS
    assert objective.reference.kind in KINDS
    assert objective.description.startswith(objective.kind.replace("_", " "))
    architecture = candidate(convolutions()[-1], objective).architecture
    generator = objective.reference_generator(architecture)
    unigram = isinstance(objective, ReplacedTokens) and objective.generator == "unigram"
    assert generator is None or unigram or generator == objective.generator_of(architecture, architecture)


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_never_enter_a_key(kind: str) -> None:
    (option,) = (each for each in options_of(PretrainingObjective) if each.model_fields["kind"].default == kind)
    required = REQUIRED.get(kind, {})
    assert canonical(option(**required)).keys() == {"kind", *required}


def test_only_the_masks_of_the_baseline_enter_the_reference() -> None:
    """Weights and the generator's size do not change the masks."""
    masks = {"mask_rate": 0.2, "mask_token_share": 0.8, "random_token_share": 0.1}
    plain = MaskedLanguageModel(**masks)
    assert plain.reference == plain
    assert ReplacedTokenDetection(**masks, discriminator_weight=20, generator_ratio=2).reference == plain
