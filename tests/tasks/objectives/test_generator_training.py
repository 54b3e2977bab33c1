"""How a generator is trained and what it shares: two stages, policy gradients, tied weights, unigram samples."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor, nn

from runners.training.checkpoint import load_checkpoint
from search_space.candidate import Candidate
from search_space.objective import AllTokensMaskedLanguageModel, ReplacedTokenDetection
from search_space.objective.generator_training import Adversarial, TwoStage
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.masking import MaskedBatch, mask
from steeplechase.tasks.objectives import all_tokens_masked_language_model, build_model
from steeplechase.tasks.objectives.generated_tokens import SampledTokens, corrupted_inputs
from steeplechase.tasks.objectives.generator_model import unigram_samples, with_unigram_samples
from steeplechase.tasks.objectives.generator_training.adversarial import Training as AdversarialTraining
from steeplechase.tasks.objectives.masked_tokens import masked_tensors
from steeplechase.tasks.objectives.replaced_token_detection import Model
from tests.factories.small_experiments import (
    OWN,
    SPAN_DYNAMIC,
    WORDS,
    architecture,
    batches_of,
    candidate,
    generators,
    objective_title,
    sequences_of,
    stir,
)
from tests.factories.training_data import Run, assert_bitwise_equal

CPU = torch.device("cpu")
UNIGRAM = ReplacedTokenDetection(generator="unigram")
FIRST_STAGE, LAST = 7, 12  # updates; that of `candidate` has 64 tokens
TWO_STAGES = ReplacedTokenDetection(
    **OWN, generator_sharing="none", generator_training=TwoStage(generator_tokens=64 * FIRST_STAGE)
)


def learner(objective: ReplacedTokenDetection, dropout: float = 0.0) -> Candidate:
    return candidate(SPAN_DYNAMIC, objective, dropout)


def model_of(run: Run) -> Model:
    assert isinstance(run.model, Model)
    return run.model


def weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("objective", generators(), ids=objective_title)
def test_every_weight_is_trained_in_one_stage_or_the_other(objective: ReplacedTokenDetection) -> None:
    run = Run.started(learner(objective))
    before = weights(run.model)
    after = weights(run.train(0, LAST).model)
    still = {name for name in before if torch.equal(before[name], after[name])}
    assert not still, still


def test_the_first_stage_trains_the_generator_and_the_second_everything_else() -> None:
    run = Run.started(learner(TWO_STAGES))
    encoder, judge = weights(model_of(run).encoder), weights(model_of(run).judge)
    run.train(0, FIRST_STAGE)
    assert equal(weights(model_of(run).encoder), encoder)
    assert equal(weights(model_of(run).judge), judge)
    generator = weights(model_of(run).generator or nn.Identity())
    run.model.start_update(FIRST_STAGE)
    assert equal(weights(model_of(run).encoder), generator)
    run.train(FIRST_STAGE, LAST)
    assert equal(weights(model_of(run).generator or nn.Identity()), generator)
    assert not equal(weights(model_of(run).encoder), generator)


def test_two_stages_resume_on_either_side_of_the_boundary(tmp_path: Path) -> None:
    uninterrupted = Run.started(learner(TWO_STAGES, 0.1)).train(0, LAST)
    saved, done = Run.started(learner(TWO_STAGES, 0.1)), 0
    for killed in (FIRST_STAGE - 1, FIRST_STAGE, FIRST_STAGE + 1):
        saved.train(done, killed).save(tmp_path / f"at {killed}", killed)
        resumed, done = Run.started(learner(TWO_STAGES, 0.1), seed=1), killed
        resumed.train(resumed.load(tmp_path / f"at {killed}"), LAST)
        assert_bitwise_equal(resumed, uninterrupted)


def shared_names(model: Model) -> set[str]:
    """Return the generator's parameters that are the encoder's, in the same memory."""
    assert model.generator is not None
    places = {value.data_ptr() for value in model.encoder.parameters()}
    return {name for name, value in model.generator.named_parameters() if value.data_ptr() in places}


@pytest.mark.parametrize("sharing", ["none", "token_embeddings", "embeddings", "all"])
def test_tied_weights_stay_tied_after_updates_a_checkpoint_and_a_copy(sharing: str, tmp_path: Path) -> None:
    run = Run.started(learner(ReplacedTokenDetection(**OWN, generator_sharing=sharing)))
    model = model_of(run.train(0, 2))
    assert model.generator is not None
    names = {name for name, _ in model.generator.named_parameters()}
    expected = {
        "none": set[str](),
        "token_embeddings": {"embeddings.tokens.weight"},
        "embeddings": {name for name in names if name.startswith("embeddings.")},
        "all": names,
    }[sharing]
    run.save(tmp_path / "checkpoint", 2)
    loaded = Run.started(run.lesson.candidate, seed=3)
    load_checkpoint(tmp_path / "checkpoint", loaded.model, loaded.optimiser)
    for each in (model, copy.deepcopy(model), model_of(loaded), model_of(loaded.train(2, 3))):
        assert shared_names(each) == expected


def test_the_expected_gradient_of_a_sample_is_that_of_the_expected_reward() -> None:
    """Whatever the baseline predicts: over all tokens of a vocabulary, weighted by their probabilities."""
    training = AdversarialTraining(
        learner(ReplacedTokenDetection(generator_training=Adversarial())), architecture(SPAN_DYNAMIC)
    )
    stir(training)
    random = torch.Generator().manual_seed(1)
    logits = torch.randn(5, generator=random, dtype=torch.float64, requires_grad=True)
    rewards = torch.rand(5, generator=random, dtype=torch.float64)
    vectors = torch.randn(1, training.value.value.in_features, generator=random)
    (expected,) = torch.autograd.grad(-(logits.softmax(-1) * rewards).sum(), logits)
    found = torch.zeros_like(logits)
    for token, probability in enumerate(logits.detach().softmax(-1)):
        log_probabilities = logits.log_softmax(-1)[[token]]
        sampled = SampledTokens(
            torch.zeros(1, 1).long(), torch.zeros(1, 1), torch.zeros(1).long(), vectors, log_probabilities
        )
        (gradient,) = torch.autograd.grad(training.generator_loss(sampled, rewards[[token]]), logits)
        found += probability * gradient
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


def masked_batch(seed: int = 1, rows: int = 8) -> MaskedBatch:
    return mask(batches_of(UNIGRAM).at(0, rows, 1), UNIGRAM, WORDS, np.random.default_rng(seed))


def test_unigram_samples_have_the_frequencies_of_the_text_without_special_tokens() -> None:
    corpus = text()
    ordinary = corpus[corpus != WORDS.separate]
    found = unigram_samples(corpus, WORDS, 20_000, np.random.default_rng(1))
    expected = np.bincount(ordinary, minlength=WORDS.vocabulary_size)
    counts = np.bincount(found, minlength=WORDS.vocabulary_size)
    assert (counts[expected == 0] == 0).all()
    seen = expected > 0
    assert chisquare(counts[seen], expected[seen] * 20_000 / expected.sum()).pvalue > 1e-3


def test_unigram_samples_stand_at_the_masked_tokens_alone_and_correct_ones_count_as_original() -> None:
    batch = masked_batch()
    filled = with_unigram_samples(batch, text(), WORDS, np.random.default_rng(1))
    elsewhere = np.ones(batch.inputs.shape, dtype=bool)
    np.put_along_axis(elsewhere, batch.masked_positions, False, 1)
    assert (filled.inputs[elsewhere] == batch.inputs[elsewhere]).all()
    assert not np.isin(filled.inputs[~elsewhere], (WORDS.mask, WORDS.pad)).any()
    right = replace(filled, targets=np.take_along_axis(filled.inputs, batch.masked_positions, axis=1))
    assert corrupted_inputs(masked_tensors(right, CPU), torch.from_numpy(right.targets)).replaced.sum() == 0


@pytest.mark.parametrize("tokens", [np.empty(0, np.uint16), np.full(50, WORDS.separate, np.uint16)])
def test_a_text_of_special_tokens_has_no_unigram_samples(tokens: np.ndarray) -> None:
    with pytest.raises(DataError, match="none can be sampled"):
        unigram_samples(tokens, WORDS, 3, np.random.default_rng(1))


def all_tokens_model(copy_logit: float) -> all_tokens_masked_language_model.Model:
    objective = AllTokensMaskedLanguageModel()
    learned = candidate(SPAN_DYNAMIC, objective)
    model = build_model(learned, objective.generator_of(learned.architecture, learned.architecture), 1).eval()
    stir(model)
    assert isinstance(model, all_tokens_masked_language_model.Model)
    with torch.no_grad():
        model.copy.copy.weight.zero_()
        model.copy.copy.bias.fill_(copy_logit)
    return model


def test_with_a_copy_probability_of_0_the_loss_is_that_of_predicting_every_token() -> None:
    model, batch = all_tokens_model(-1000.0), masked_batch()
    read = masked_tensors(batch, CPU)
    corrupted = corrupted_inputs(read, torch.from_numpy(np.where(batch.targets < 0, batch.targets, 12)))
    originals = all_tokens_masked_language_model.originals_of(read)
    logits = model.head(model.encoder(corrupted.inputs).flatten(0, 1), model.token_table)
    expected = torch.nn.functional.cross_entropy(logits, originals.flatten())
    torch.testing.assert_close(model.own_loss(corrupted, read), expected)


def test_with_a_copy_probability_of_1_the_loss_is_that_of_copying() -> None:
    """0 where the input is the original token; the logit's distance where it is not."""
    model, batch = all_tokens_model(40.0), masked_batch()
    read = masked_tensors(batch, CPU)
    right = corrupted_inputs(read, torch.from_numpy(batch.targets))
    assert right.replaced.sum() == 0
    assert model.own_loss(right, read).item() == pytest.approx(0.0, abs=1e-6)
    wrong = corrupted_inputs(read, torch.from_numpy(np.where(batch.targets == 12, 13, 12)))
    assert model.own_loss(wrong, read).item() > 40 * wrong.replaced.mean().item()


def test_original_tokens_are_those_before_masking() -> None:
    sequences = batches_of(UNIGRAM).at(0, 8, 1)
    batch = mask(sequences_of(sequences.tokens), UNIGRAM, WORDS, np.random.default_rng(1))
    found = all_tokens_masked_language_model.originals_of(masked_tensors(batch, CPU))
    assert (found.numpy() == sequences.tokens).all()
