"""Corruptions of a source: what each keeps, how often it corrupts, and what a decoder learns from it."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.corruption import (
    AT_AN_END,
    Empty,
    Fragment,
    MaskedTokens,
    PermutedTokens,
    Rotation,
    SentencePermutation,
    TextInfilling,
    TokenDeletion,
    TokenMasking,
    fragment_start,
    span_lengths,
)
from search_space.corruption.option import Context, Corrupted, CorruptionOption
from search_space.objective import Denoising
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import options_of
from steeplechase.tasks.objectives import build_model, model_class
from steeplechase.tasks.objectives.denoising import Model, batch_of
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories.encoder_decoders import SIZES
from tests.factories.small_experiments import WORDS, batches_of, stir

CORRUPTIONS: tuple[CorruptionOption, ...] = (
    TextInfilling(),
    TextInfilling(permute_sentences=True),
    TokenMasking(),
    TokenDeletion(),
    Rotation(),
    SentencePermutation(),
    Empty(),
    Fragment(),
    Fragment(discrete=True),
    Fragment(reads_all=True),
    MaskedTokens(),
    PermutedTokens(),
)
every_corruption = pytest.mark.parametrize("option", CORRUPTIONS, ids=str)
ORDINARY = list(range(5, WORDS.vocabulary_size))
texts = st.lists(st.sampled_from(ORDINARY), min_size=3, max_size=40).map(np.asarray)


def made(option: CorruptionOption, tokens: np.ndarray, seed: int = 1) -> Corrupted:
    return option.corrupted(tokens, Context(WORDS, np.random.default_rng(seed)))


def test_every_option_of_the_folder_is_tested() -> None:
    assert {type(each) for each in CORRUPTIONS} == {*options_of(CorruptionOption)}


@every_corruption
@given(tokens=texts, seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_targets_and_inputs_are_those_of_a_decoder(option: CorruptionOption, tokens: np.ndarray, seed: int) -> None:
    found = made(option, tokens, seed)
    predicted = found.targets != NOT_PREDICTED
    assert predicted.sum() == option.predictions(len(tokens))
    assert len(found.inputs) == len(found.places) == len(found.targets)
    text = np.append(tokens, WORDS.separate)
    assert (text[found.places] == found.targets)[predicted].all(), "each target is the token at its place"
    if isinstance(option, Fragment) and option.reads_all:
        assert found.inputs.tolist() == [WORDS.classify, *tokens[:-1]]
    elif not isinstance(option, MaskedTokens):
        assert predicted.all()
        assert (found.inputs[1:] == found.targets[:-1]).all()
        assert found.inputs[0] in (WORDS.classify, WORDS.mask)
    else:
        assert (found.inputs == WORDS.mask).all()
    assert not {WORDS.pad, WORDS.classify, WORDS.separate} & {*found.source.tolist()}
    again = made(option, tokens, seed)
    assert np.array_equal(found.source, again.source)


def is_subsequence(part: np.ndarray, whole: np.ndarray) -> bool:
    rest = iter(whole.tolist())
    return all(token in rest for token in part.tolist())


@given(tokens=texts, seed=st.integers(0, 10**6), rate=st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=40)
def test_what_each_corruption_keeps(tokens: np.ndarray, seed: int, rate: float) -> None:
    masked = made(TokenMasking(rate=rate), tokens, seed).source
    changed = masked != tokens
    assert len(masked) == len(tokens)
    assert (masked[changed] == WORDS.mask).all()
    assert changed.sum() == round(rate * len(tokens))
    deleted = made(TokenDeletion(rate=rate), tokens, seed).source
    assert len(deleted) == len(tokens) - round(rate * len(tokens))
    assert is_subsequence(deleted, tokens)
    infilled = made(TextInfilling(rate=rate), tokens, seed).source
    assert is_subsequence(infilled[infilled != WORDS.mask], tokens)
    rotated = made(Rotation(), tokens, seed).source
    assert any(np.array_equal(np.roll(rotated, shift), tokens) for shift in range(len(tokens)))
    assert made(Empty(), tokens, seed).source.size == 0


@given(tokens=texts, seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=40)
def test_a_fragment_is_hidden_and_a_whole_one_hides_all(tokens: np.ndarray, seed: int, share: float) -> None:
    found = made(Fragment(share=share), tokens, seed)
    assert (np.diff(found.places) == 1).all()
    assert (found.source[found.places] == WORDS.mask).all()
    kept = np.delete(np.arange(len(tokens)), found.places)
    assert (found.source[kept] == tokens[kept]).all()
    if share == 1.0:
        assert (found.source == WORDS.mask).all()
    if share == 0.0:
        assert found.inputs.tolist() == [WORDS.mask]


def test_sentences_are_permuted_whole() -> None:
    tokenizer = WordPiece([*SPECIAL_TOKENS, ".", "?", *map(str, range(6))], lowercase=True)
    stop, question, *words = range(5, 13)
    tokens = np.asarray([words[0], stop, words[1], words[2], question, words[3]])

    def permuted(text: np.ndarray, seed: int) -> np.ndarray:
        return SentencePermutation().corrupted(text, Context(tokenizer, np.random.default_rng(seed))).source

    seen = {tuple(permuted(tokens, seed).tolist()) for seed in range(60)}
    assert len(seen) == 6, "three sentences, the last without an end, have six orders"
    assert all(Counter(each) == Counter(tokens.tolist()) for each in seen)
    one = np.asarray(words)
    assert np.array_equal(permuted(one, 1), one)


def test_span_lengths_are_poisson_and_add_up_to_the_budget() -> None:
    lengths = np.concatenate([span_lengths(1000, 3.0, np.random.default_rng(seed)) for seed in range(20)])
    assert lengths.sum() == 20_000
    assert abs((lengths == 0).mean() - np.exp(-3)) < 0.01
    assert abs(lengths.mean() - 3.0) < 0.1


def test_infilling_hides_about_27_percent_at_a_rate_of_30() -> None:
    """Starts are drawn apart from each other, so that spans overlap: 0.268 in fairseq's code."""
    tokens = np.tile(np.asarray(ORDINARY[:20]), 10)
    hidden = []
    for seed in range(200):
        source = made(TextInfilling(), tokens, seed).source
        hidden.append(1 - (source != WORDS.mask).sum() / len(tokens))
    assert abs(float(np.mean(hidden)) - 0.268) < 0.01


def test_fragments_begin_at_the_ends_as_often_as_mass_draws_them() -> None:
    starts = [fragment_start(9, np.random.default_rng(seed)) for seed in range(3000)]
    at_an_end = AT_AN_END + (1 - 2 * AT_AN_END) / 10
    for place in (0, 9):
        assert abs(np.mean([start == place for start in starts]) - at_an_end) < 0.03
    assert {*starts} == {*range(10)}


def learner(option: CorruptionOption, **recipe: Any) -> Candidate:
    document = {
        "architecture": {**SIZES, "vocabulary_size": WORDS.vocabulary_size, "positions": 64},
        "objective": {"kind": "denoising", "corruption": option.model_dump()},
        "recipe": {"dropout": 0.0, "sequence_length": 32, **recipe},
    }
    return Candidate.model_validate(document)


def model_of(option: CorruptionOption, **recipe: Any) -> Model:
    return built_with(learner(option, **recipe))


def built_with(candidate: Candidate, **sizes: Any) -> Model:
    architecture = candidate.architecture.model_copy(update=sizes)
    model = build_model(candidate.model_copy(update={"architecture": architecture}), None, 1)
    assert isinstance(model, Model)
    stir(model)
    return model


@given(mean_span=st.sampled_from([0.2, 1.0, 3.0]), rate=st.sampled_from([0.05, 0.3, 1.0]), seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_a_source_with_inserted_masks_is_cut_to_the_positions(mean_span: float, rate: float, seed: int) -> None:
    """Of spans of length 0 a source can be longer than its text, and so than the table of positions."""
    option = TextInfilling(rate=rate, mean_span=mean_span)
    model = built_with(learner(option, sequence_length=16), positions=16)
    batch = model.prepare(batches_of(Denoising(corruption=option)).at(0, 6, 1), WORDS, np.random.default_rng(seed))
    assert np.isfinite(model.loss(batch, stream(1, "masking", 3)).item())
    cut = batch.with_sources_of(16)
    assert cut.source.shape[1] == min(16, batch.source.shape[1])
    ends = np.take_along_axis(cut.source, cut.real.sum(1, keepdims=True) - 1, 1)
    assert (ends == WORDS.separate).all()
    kept = batch.real.sum(1) <= 16
    assert all(np.array_equal(*rows) for rows in zip(cut.source[kept], batch.source[kept, :16], strict=True))


@pytest.mark.parametrize(("reads_all", "reached"), [(False, False), (True, True)])
def test_a_fragments_decoder_reads_the_text_before_it_in_feed_alone(reads_all: bool, reached: bool) -> None:
    option = Fragment(share=0.2, reads_all=reads_all)
    model, tokens = model_of(option).eval(), np.asarray(ORDINARY[:20])
    seed = next(seed for seed in range(50) if made(option, tokens, seed).source[0] != WORDS.mask)
    batch = batch_of([made(option, tokens, seed)], WORDS)
    other = replace(batch, inputs=np.where(batch.inputs == tokens[0], tokens[1], batch.inputs))
    one, two = (model.loss(each, stream(1, "masking", 1)).item() for each in (batch, other))
    assert (one != two) == reached


def test_losses_of_other_corruptions_have_other_names() -> None:
    names = {Denoising(corruption=option).evaluation for option in (*CORRUPTIONS, Fragment(share=0.25))}
    assert len(names) == len(CORRUPTIONS) + 1
    assert "denoising" in names
    assert Denoising().measured_on("denoising")
    assert not Denoising(corruption=Rotation()).measured_on("denoising")
    assert Denoising(corruption=TokenMasking(rate=0.1)).evaluation == "denoising.token_masking"
    assert {model_class(name) for name in names} == {Model}


def test_label_smoothing_changes_training_alone() -> None:
    sequences = batches_of(Denoising()).at(0, 4, 1)
    losses: dict[tuple[float, bool], float] = {}
    for smoothing in (0.0, 0.2):
        model = model_of(TextInfilling(), label_smoothing=smoothing)
        for training in (True, False):
            model.train(training)
            batch = model.prepare(sequences, WORDS, stream(1, "masking", 3))
            with torch.no_grad():
                losses[smoothing, training] = model.loss(batch, stream(1, "masking", 3)).item()
    assert losses[0.0, False] == losses[0.2, False]
    assert losses[0.0, True] != losses[0.2, True]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"architecture": {"kind": "encoder_decoder"}, "objective": {"kind": "masked_language_model"}},
            "allowed: denoising",
        ),
        ({"objective": {"kind": "denoising"}}, "an architecture without a decoder; allowed: all_tokens_masked"),
        ({"recipe": {"label_smoothing": 0.1}}, "0.1 with an architecture without a decoder; allowed: 0"),
    ],
)
def test_an_objective_without_its_architecture_is_refused(document: dict[str, Any], message: str) -> None:
    broken = [violation.message for violation in Candidate.model_validate(document).violations()]
    assert any(message in each for each in broken), broken
