"""The training loop: golden losses of the first updates, and resumed runs equal to uninterrupted ones.

The golden curves are regenerated with `STEEPLECHASE_GOLDEN=write` and this file. A change that moves them changes
every pretrained model: increment `code_version` of PretrainStage and of EvaluationSetStage
(runners/stages/declarations.py) in the same commit, or results of before and after it have the same key.
"""

import json
import math
import os
from itertools import cycle
from pathlib import Path

import pytest
import torch

from runners.training.loop import NotFinite, Step, held_out_losses, train
from search_space.candidate import Candidate
from search_space.objective import Objective
from steeplechase.foundation.randomness import stream
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import mask
from tests.factories.small_experiments import (
    OBJECTIVES,
    PAPERS,
    SPAN_DYNAMIC,
    WORDS,
    candidate,
    convolutions,
    of_table_2,
    stir,
)
from tests.factories.training_data import Run, assert_bitwise_equal, learners, lesson, name_of

GOLDEN = Path(__file__).parent / "golden"
WRITE = os.environ.get("STEEPLECHASE_GOLDEN") == "write"
GOLDEN_STEPS = 20
ADVICE = "if the change is intended, increment code_version and regenerate (see the docstring of this file)"
ROUNDING = 1e-5  # relative; a change of 1e-7 in every weight moves no loss by more than 5e-7
LAST, HALFWAY = 6, 3


def curves(objective: Objective, dropout: float) -> dict[str, list[float]]:
    """Return the losses of the first updates by convolution, from weights at which every option affects the loss."""
    found: dict[str, list[float]] = {}
    for convolution in of_table_2(convolutions()) if not dropout and objective in PAPERS else [SPAN_DYNAMIC]:
        run = Run.started(candidate(convolution, objective, dropout))
        stir(run.model)
        found[convolution.kind] = run.train(0, GOLDEN_STEPS).losses
    return found


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.kind)
def test_the_first_losses_are_the_golden_ones(objective: Objective, dropout: float) -> None:
    if dropout and not torch.backends.mkl.is_available():
        pytest.skip("without MKL torch draws other dropout patterns")
    path = GOLDEN / f"{objective.kind}-dropout-{dropout}.json"
    found = curves(objective, dropout)
    if WRITE:
        path.write_text(json.dumps(found, indent=1) + "\n")
    expected = json.loads(path.read_text())
    assert found.keys() == expected.keys()
    for kind, losses in found.items():
        assert losses == pytest.approx(expected[kind], rel=ROUNDING), f"{kind}: {ADVICE}"


def test_the_golden_curves_differ_between_options_and_with_dropout() -> None:
    files = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.json"))]
    every = [tuple(round(loss, 2) for loss in curve) for file in files for curve in file.values()]
    without_dropout = len(PAPERS) * len(of_table_2(convolutions())) + len(OBJECTIVES) - len(PAPERS)
    assert len(set(every)) == len(every) == without_dropout + len(OBJECTIVES)


@pytest.mark.parametrize("learner", learners(0.1), ids=name_of)
def test_a_resumed_run_has_the_same_weights_bit_by_bit(learner: Candidate, tmp_path: Path) -> None:
    uninterrupted = Run.started(learner).train(0, LAST)
    Run.started(learner).train(0, HALFWAY).save(tmp_path / "checkpoint", HALFWAY)
    torch.manual_seed(99)
    resumed = Run.started(learner, seed=1)
    Run.started(learner, seed=7)  # another trial in the same process
    for parameter in resumed.model.parameters():
        torch.nn.init.constant_(parameter, 7.0)  # every weight must come from the checkpoint
    resumed.train(resumed.load(tmp_path / "checkpoint"), LAST)
    assert_bitwise_equal(resumed, uninterrupted)
    assert resumed.losses == uninterrupted.losses[HALFWAY:]


def test_runs_differ_between_seeds() -> None:
    one, other = (Run.started(learners(0.1)[0], seed).train(0, 2) for seed in (1, 2))
    assert one.losses != other.losses


@pytest.mark.parametrize(("objective", "poison"), [*zip(OBJECTIVES, cycle((math.nan, math.inf)), strict=False)])
def test_a_loss_that_is_not_finite_raises_before_the_update(objective: Objective, poison: float) -> None:
    run = Run.started(candidate(SPAN_DYNAMIC, objective))
    with torch.no_grad():
        run.model.encoder.blocks[0].feed_forward.up.weight[0, 0] = poison  # type: ignore[union-attr, operator]
    before = [value.clone() for value in run.model.parameters()]
    with pytest.raises(NotFinite) as end:
        run.train(0, 3)
    assert end.value.step.number == 1
    assert not math.isfinite(end.value.step.loss)
    assert run.losses == []
    for one, other in zip(before, run.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.kind)
def test_a_far_too_high_learning_rate_raises_not_finite(objective: Objective) -> None:
    learner = candidate(SPAN_DYNAMIC, objective)
    recipe = learner.recipe.model_copy(update={"peak_learning_rate": 1e37})
    run = Run.started(learner.model_copy(update={"recipe": recipe}))
    with pytest.raises(NotFinite) as end:
        run.train(0, 20)
    assert len(run.losses) == end.value.step.number - 1
    assert all(map(math.isfinite, run.losses))


def evaluation_set_of(learner: Candidate) -> EvaluationSet:
    sequences = lesson(learner).batches.at(0, 8, 1)
    random = stream(1, "questions")
    return mask(sequences, learner.objective, WORDS, random).evaluation_set(random)


def test_an_evaluation_does_not_change_training() -> None:
    """It runs without dropout, restores it afterwards, and draws no random numbers of the training."""
    learner = learners(0.1)[0]
    plain, evaluated = Run.started(learner).train(0, 4), Run.started(learner)
    evaluation_set, losses = evaluation_set_of(learner), []

    def evaluate(_: Step) -> None:
        losses.append([held_out_losses(evaluated.model, evaluation_set).tolist() for _ in range(2)])

    train(evaluated.model, evaluated.lesson, evaluated.optimiser, range(4), evaluate)
    assert_bitwise_equal(plain, evaluated)
    assert all(one == other for one, other in losses)
    assert losses[-1][0] != losses[0][0]
