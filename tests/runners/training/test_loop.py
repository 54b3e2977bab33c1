"""The training loop: golden losses of the first updates, equal resumed runs, and first stages of updates."""

import json
import math
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from runners.training.loop import NotFinite, Step, held_out_losses, train
from runners.training.optimisers.adamw import adamw
from runners.training.sequence_to_sequence import FirstStage, TrainingSettings, train_pairs
from runners.training.text_writer import DecoderWriter
from search_space.candidate import Candidate
from search_space.objective import Objective
from search_space.source_encoder import SourceEncoderSizes
from steeplechase.foundation.randomness import stream
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder, add_source_encoder, first_stage_parameters
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.labelled.forms import EncodedTextPairs
from steeplechase.tasks.masking import mask
from tests.factories.encoder_decoders import architecture
from tests.factories.planted_text_pairs import FIRST_SYMBOL, START, VOCABULARY, planted_pairs
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
LAST, HALFWAY = 4, 2


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


@pytest.mark.parametrize(("objective", "poison"), [(PAPERS[0], math.nan), (PAPERS[1], math.inf)])
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


@pytest.mark.parametrize("objective", PAPERS, ids=lambda objective: objective.kind)
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


PRE_NORM = {"kind": "pre_norm", "embedding": False}


SMALL = {"width": 32, "feed_forward_width": 64, "depth": 1, "decoder_depth": 1, "vocabulary_size": VOCABULARY}


ARM = architecture("bart", **SMALL, normalisation=PRE_NORM)


RATE, ROWS, LENGTH = 5e-3, 32, 3


SETTINGS = TrainingSettings(1, RATE, 0.1, "linear", 0.0, 1, "float32")


def untrained() -> EncoderDecoder:
    model = build_encoder(ARM, 0.0)
    assert isinstance(model, EncoderDecoder)
    initialise(model, 1)
    return model


def new_language(pairs: EncodedTextPairs) -> EncodedTextPairs:
    """Return the pairs with every symbol of their sources written as another one."""
    other = np.arange(VOCABULARY)
    other[FIRST_SYMBOL:] = np.roll(other[FIRST_SYMBOL:], 3)
    sources = replace(pairs.sources, tokens=other[np.asarray(pairs.sources.tokens)].astype(np.int32))
    return replace(pairs, sources=sources)


def losses_of(
    model: EncoderDecoder, pairs: EncodedTextPairs, updates: int, settings: TrainingSettings = SETTINGS
) -> list[float]:
    losses: list[float] = []
    batches = list(np.arange(ROWS * updates).reshape(updates, ROWS))
    hooks = (lambda _epoch: batches, np.random.default_rng, lambda _share, loss: losses.append(loss))
    train_pairs(DecoderWriter(model, START), pairs, settings, adamw(model, 0.01), *hooks)
    return losses


@cache
def pretrained_values() -> dict[str, Tensor]:
    model = untrained()
    assert losses_of(model, planted_pairs(100 * ROWS, 1, LENGTH), 100)[-1] < 0.2
    return {name: value.clone() for name, value in model.state_dict().items()}


def translating(*, pretrained: bool = True) -> EncoderDecoder:
    model = untrained()
    if pretrained:
        model.load_state_dict(pretrained_values())
    encoder = add_source_encoder(model, SourceEncoderSizes(depth=1).architecture(ARM, VOCABULARY))
    initialise(nn.ModuleDict({"source_encoder": encoder}), 3)
    return model


def trained_on_new_language(
    model: EncoderDecoder, share: float, updates: int = 60
) -> tuple[list[float], set[str], set[str]]:
    """Return the losses, and the parameters that changed, of the pretrained ones and of those of the first stage."""
    before = {name: value.clone() for name, value in model.named_parameters()}
    updated = first_stage_parameters(model)
    settings = replace(SETTINGS, first_stage=FirstStage(share, [*updated.values()], RATE))
    losses = losses_of(model, new_language(planted_pairs(updates * ROWS, 7, LENGTH)), updates, settings)
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    return losses, changed, set(updated)


def test_a_pretrained_model_understands_a_new_language_by_its_new_encoder_alone() -> None:
    losses, changed, first = trained_on_new_language(translating(), share=1.0)
    assert changed == first
    assert losses[-1] < 0.5 < 0.25 * losses[0]


def test_an_untrained_model_does_not() -> None:
    """The twin of the test above: what is frozen has learned nothing, so that the same updates lead nowhere."""
    losses, changed, first = trained_on_new_language(translating(pretrained=False), share=1.0)
    assert changed == first
    assert losses[-1] > 1.2


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_one_stage_and_the_second_of_two_change_everything(share: float) -> None:
    model = translating()
    _, changed, first = trained_on_new_language(model, share, updates=4)
    assert changed == {name for name, _ in model.named_parameters()} > first


def test_both_stages_have_a_warm_up_and_a_decay_of_their_own() -> None:
    two = replace(SETTINGS, first_stage=FirstStage(0.8, (), 1e-4))
    rates = [two.rate(update, 100) for update in range(100)]
    assert rates[:80] == [SETTINGS.rate(update, 80) for update in range(80)]
    assert rates[80:] == pytest.approx([SETTINGS.rate(update, 20) * 1e-4 / RATE for update in range(20)])
    fixed = replace(SETTINGS, first_stage=FirstStage(1.0, (), 1e-4))
    assert [fixed.rate(update, 7) for update in range(7)] == [SETTINGS.rate(update, 7) for update in range(7)]
    one = replace(SETTINGS, first_stage=FirstStage(0.0, (), RATE))
    assert [one.rate(update, 7) for update in range(7)] == [SETTINGS.rate(update, 7) for update in range(7)]
