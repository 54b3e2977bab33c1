"""Permutation language modelling: which tokens are predicted, in which orders, its memory, what it can learn."""

from typing import Any

import numpy as np
import pytest
import torch

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import PermutationLanguageModel
from search_space.packing.continued_pairs import SPECIAL_TOKENS
from search_space.packing.sequences import ContinuedPairSequences, Sequences, Text
from search_space.selection import SingleToken, WindowedNGram
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.models.segment_memory import KeptMemory
from steeplechase.tasks.contracts.small_candidates import WORDS, sequences
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.permutation_language_model import Model, drawn_ranks
from steeplechase.tasks.packing import sequences_of as packed
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS as SPECIAL_PIECES
from tests.factories.small_experiments import stir

SIZES: dict[str, Any] = {
    "depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32, "segments": 0,
    "vocabulary_size": WORDS.vocabulary_size, "visibility": "permutation", "attention_biases": False,
    "normalisation": {"kind": "post_norm", "embedding": False},
}  # fmt: skip
SEGMENTS = {"kind": "relative", "segment_encodings": True}
PACKED = {
    "packing": "continued_pairs",
    "partial_prediction": 3.0,
    "selection": {"kind": "windowed_ngram", "longest": 2},
}
ROWS, LENGTH, STEPS = 6, 32, 150


def learner(kind: str = "permutation_language_model", memory: int = 12, **objective: Any) -> Candidate:
    """Return a candidate on text that continues, with a memory."""
    visibility = "permutation" if kind == "permutation_language_model" else "bidirectional"
    made = Candidate.model_validate(
        {
            "architecture": {**SIZES, "position": SEGMENTS, "memory": memory, "visibility": visibility},
            "objective": {"kind": kind, **objective},
            "recipe": {"sequence_length": LENGTH, "batch_sequences": ROWS, "dropout": 0.0},
        }
    )
    assert [*made.violations()] == []
    return made


def model_of(candidate: Candidate) -> Any:
    model = build_model(candidate, None, 1)
    stir(model)
    return model


@pytest.mark.parametrize("partial_prediction", [6.0, 7.0, 2.5])
@pytest.mark.parametrize("selection", [SingleToken(), WindowedNGram(longest=2)], ids=lambda each: each.kind)
def test_one_token_of_k_is_predicted(partial_prediction: float, selection: SingleToken | WindowedNGram) -> None:
    objective = PermutationLanguageModel(partial_prediction=partial_prediction, selection=selection)
    model = Model(learner(memory=0).model_copy(update={"objective": objective}), None)
    batch = model.prepare(sequences(objective, LENGTH).at(0, ROWS, 1), WORDS, np.random.default_rng(1))
    predicted = batch.targets != NOT_PREDICTED
    assert (predicted.sum(1) == int(LENGTH / partial_prediction)).all()
    targets = np.take_along_axis(batch.inputs, batch.masked_positions, 1)
    assert (targets[predicted] == batch.targets[predicted]).all()
    assert not np.isin(batch.targets[predicted], (WORDS.pad, WORDS.classify, WORDS.separate)).any()


def test_all_orders_of_the_predicted_tokens_have_the_same_probability_and_blocks_follow_one_another() -> None:
    positions = np.tile([1, 4, 6, 9], (6000, 1))
    drawn = MaskedBatch(np.zeros((6000, 12), np.int64), positions, np.ones_like(positions), positions)
    ranks = drawn_ranks(drawn, None, np.random.default_rng(1))
    assert (np.sort(ranks, axis=1)[:, -4:] == [1, 2, 3, 4]).all()
    assert not np.delete(ranks, positions[0], axis=1).any()
    _, counts = np.unique(ranks[:, positions[0]], axis=0, return_counts=True)
    assert len(counts) == 24
    chi_square = ((counts - 250) ** 2 / 250).sum()
    assert chi_square < 49.7  # 99.9% of 23 degrees of freedom
    in_blocks = drawn_ranks(drawn, 6, np.random.default_rng(1))[:, positions[0]]
    assert (in_blocks[:, :2].max(1) < in_blocks[:, 2:].min(1)).all()


def test_spans_begin_at_words_and_have_the_declared_lengths() -> None:
    """Windows alone, of single-token words: n-grams of 1 to 5 tokens with p proportional to 1/n."""
    words = np.tile(np.arange(600), (40, 1))
    spans = WindowedNGram().select(words, 100, np.random.default_rng(1))
    assert ((spans != NONE).sum(1) == 100).all()
    lengths = np.bincount(np.concatenate([np.unique(row[row != NONE], return_counts=True)[1] for row in spans]))
    assert len(lengths) == 6
    assert lengths[2:] / lengths[2:].sum() == pytest.approx(
        np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5]) / (77 / 60), abs=0.05
    )
    pieces = np.arange(60)[None] // 3  # words of three tokens
    spans = WindowedNGram(longest=1).select(pieces, 4, np.random.default_rng(1))
    assert (np.flatnonzero(spans[0] != NONE) % 3 == 0).sum() >= 3  # the rest is drawn token by token


@pytest.mark.parametrize("both_directions", [False, True])
def test_a_row_continues_the_first_half_of_the_row_before(both_directions: bool) -> None:
    packing = {"kind": "continued_pairs", "both_directions": both_directions}
    source = sequences(learner(**{**PACKED, "packing": packing}).objective, LENGTH)
    one, two = (source.at(step, ROWS, 1) for step in (0, 1))
    assert isinstance(one, ContinuedPairSequences)
    assert isinstance(two, ContinuedPairSequences)
    assert (one.backwards == (np.arange(ROWS) >= (3 if both_directions else ROWS))).all()
    half = LENGTH // 2
    for row in range(ROWS):
        a_ends = half + 1 + int(np.argmax(one.segments[row]) - half - 2)
        assert one.numbers[row] + 1 == two.numbers[row]
        assert one.tokens[row, half] == WORDS.classify
        assert one.tokens[row, -1] == one.tokens[row, a_ends] == WORDS.separate
        a = one.tokens[row, half + 1 : a_ends]
        assert (two.tokens[row, : len(a)] == a).all(), "A is what comes next"
        if one.labels[row] == 0:
            b = one.tokens[row, a_ends + 1 : -1]
            assert (two.tokens[row, len(a) : LENGTH // 2][: len(b)] == b[: half - len(a)]).all(), "B continues A"
    text = source._text.tokens.astype(np.int64)
    for row in np.flatnonzero(one.backwards):
        place = int(one.numbers[row]) - source.sequences
        assert (one.tokens[row, :half] == text[::-1][place * half : (place + 1) * half]).all()
    assert {*np.unique(one.labels)} <= {0, 1}
    assert (one.tokens.shape[1] - half - SPECIAL_TOKENS) > 0


@pytest.mark.parametrize("kind", ["permutation_language_model", "masked_language_model"])
def test_a_memory_is_of_the_first_half_alone_which_knows_nothing_of_the_second(kind: str) -> None:
    """Another second half leaves the memory unchanged; another first half does not."""
    settings = PACKED if kind == "permutation_language_model" else {"packing": "continued_pairs"}
    candidate = learner(kind, **settings)
    source = sequences(candidate.objective, LENGTH)

    def memory_after(changed: slice | None) -> KeptMemory:
        model, read = model_of(candidate), source.at(0, ROWS, 1)
        batch = model.prepare(read, WORDS, np.random.default_rng(1))
        if changed is not None:
            batch.inputs[:, changed] = 7
        model.train()
        model.loss(batch, np.random.default_rng(1))
        assert not model.memory.states.requires_grad
        kept: KeptMemory = model.memory
        return kept

    plain, second, first = (memory_after(each) for each in (None, slice(LENGTH // 2, None), slice(14, 16)))
    assert plain.valid.all()
    assert torch.equal(plain.states, second.states)
    assert not torch.equal(plain.states, first.states)


def test_masked_tokens_of_text_that_continues_are_read_behind_the_final_norm() -> None:
    candidate = learner("masked_language_model", memory=0, packing="continued_pairs")
    architecture = Architecture(**{**candidate.architecture.model_dump(), "normalisation": "pre_norm"})
    candidate = candidate.model_copy(update={"architecture": architecture})
    assert [*candidate.violations()] == []
    model = model_of(candidate)
    batch = model.prepare(sequences(candidate.objective, LENGTH).at(0, ROWS, 1), WORDS, np.random.default_rng(1))
    model.loss(batch, np.random.default_rng(1)).backward()
    assert model.encoder.final_norm.weight.grad.any()


@pytest.mark.parametrize("kind", ["permutation_language_model", "masked_language_model"])
def test_words_of_a_reversed_row_are_those_of_the_text(kind: str) -> None:
    """Whole words of three pieces: in a reversed row the pieces that continue a word stand before its first."""
    pieces = WordPiece([*SPECIAL_PIECES, "a", "##b", "##c"], lowercase=True)
    first = len(SPECIAL_PIECES)
    partial = {"partial_prediction": 3.0} if kind == "permutation_language_model" else {"mask_rate": 1 / 3}
    candidate = learner(kind, packing="continued_pairs", selection="whole_word", **partial)
    stream = np.tile(np.arange(first, first + 3), 100).astype(np.uint16)
    text = Text(stream, np.arange(0, 300, 30), pieces, LENGTH)
    read = packed(text, candidate.objective).at(0, ROWS, 1)
    batch = model_of(candidate).prepare(read, pieces, np.random.default_rng(1))
    whole = 0
    for row in range(ROWS):
        predicted = {*batch.masked_positions[row][batch.targets[row] != NOT_PREDICTED].tolist()}
        assert predicted
        before, after = (first, first + 2) if row < ROWS // 2 else (first + 2, first)
        for place in range(1, LENGTH - 1):
            around = read.tokens[row, place - 1 : place + 2].tolist()
            if around == [before, first + 1, after]:
                found = {place - 1, place, place + 1} & predicted
                assert len(found) in (0, 3), (row, place)
                whole += len(found) == 3
    assert whole > ROWS


@torch.inference_mode()
def test_a_score_does_not_depend_on_the_token_that_is_predicted() -> None:
    """Held-out losses are of masked tokens given all others: what stands at the masked places is never read."""
    objective = PermutationLanguageModel(partial_prediction=3.0, selection=SingleToken())
    candidate = Candidate.model_validate(
        {"architecture": {**SIZES, "position": "relative"}, "objective": objective.model_dump()}
    )
    model = model_of(candidate).eval()
    read: Sequences = sequences(objective.reference, 16).at(0, 4, 1)
    positions = torch.tensor([[2, 5, 9]] * 4)
    one = torch.from_numpy(read.tokens)
    other = one.scatter(1, positions, 8)
    assert torch.equal(model.predict(one, positions), model.predict(other, positions))
    assert model.predict(one, positions).shape == (12, WORDS.vocabulary_size)
