"""Greedy and beam search on decoders whose probabilities are a table, against every possible continuation."""

from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from steeplechase.models.generation.decoding import Decoding
from steeplechase.models.generation.search import Hypothesis, SearchSettings, beam_search, greedy_search, penalty

TOKENS, END, LONGEST = 4, 3, 4


class Table(Decoding):
    """A decoder whose next token depends on all tokens before it, by a random table for each history."""

    def __init__(self, seed: int, spread: float = 2.0) -> None:
        self.seed, self.spread, self.rows = seed, spread, list[tuple[int, ...]]()

    def advance(self, tokens: Tensor) -> Tensor:
        self.rows = [
            (*(self.rows[row] if self.rows else ()), *new) for row, new in enumerate(map(tuple, tokens.tolist()))
        ]
        return torch.stack([self.log_probabilities(row[1:]) for row in self.rows])

    def reorder(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def log_probabilities(self, history: tuple[int, ...]) -> Tensor:
        return log_probabilities(self.seed, self.spread, history)


@cache
def log_probabilities(seed: int, spread: float, history: tuple[int, ...]) -> Tensor:
    """Return the log-probabilities of the token that follows a history."""
    drawn = torch.randn(TOKENS, generator=torch.Generator().manual_seed(hash((seed, *history)) % 2**31))
    return (spread * drawn).log_softmax(-1)


def every_continuation(table: Table) -> dict[tuple[int, ...], tuple[float, bool]]:
    """Return the log-probability of every continuation, and whether it has ended; at `LONGEST` it need not."""
    found: dict[tuple[int, ...], tuple[float, bool]] = {}
    for length in range(LONGEST + 1):
        for tokens in product(range(TOKENS - 1), repeat=length):
            total = sum(float(table.log_probabilities(tokens[:at])[token]) for at, token in enumerate(tokens))
            if length < LONGEST:
                found[(*tokens, END)] = (total + float(table.log_probabilities(tokens)[END]), True)
            else:
                found[tokens] = (total, False)
    return found


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.6, 2.0]))
@settings(max_examples=25)
def test_a_beam_of_every_hypothesis_finds_the_best_of_all(seed: int, alpha: float) -> None:
    table = Table(seed)
    beams = TOKENS**LONGEST
    wide = SearchSettings(END, LONGEST, beams=min(beams, 64), length_penalty=alpha)
    (found,) = _search_wide(table, wide)
    scores = {key: total / penalty(len(key), alpha) for key, (total, _) in every_continuation(table).items()}
    best = max(scores.values())
    assert found.score(alpha) == pytest.approx(best, abs=1e-5)


def _search_wide(table: Table, wide: SearchSettings) -> list[Hypothesis]:
    """Search with more beams than tokens, which the search refuses, by tokens that never occur."""
    padded = _Padded(table, wide.beams)
    return beam_search(padded, torch.zeros(1, 1, dtype=torch.long), wide)


class _Padded(Table):
    """The table with further tokens of probability 0."""

    def __init__(self, table: Table, tokens: int) -> None:
        super().__init__(table.seed, table.spread)
        self.tokens = tokens

    def advance(self, tokens: Tensor) -> Tensor:
        found = super().advance(tokens.clamp_max(TOKENS - 1))
        return torch.nn.functional.pad(found, (0, self.tokens - TOKENS), value=-torch.inf)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_greedy_search_takes_the_most_probable_token_at_each_step(seed: int) -> None:
    table = Table(seed)
    (found,) = greedy_search(table, torch.zeros(1, 1, dtype=torch.long), SearchSettings(END, LONGEST))
    expected: list[int] = []
    while len(expected) < LONGEST:
        token = int(table.log_probabilities(tuple(expected)).argmax())
        if token == END:
            break
        expected.append(token)
    assert found.tokens == tuple(expected)
    total, ended = every_continuation(Table(seed))[(*found.tokens, END) if found.ended else found.tokens]
    assert (found.log_probability, found.ended) == (pytest.approx(total, abs=1e-5), ended)


class _ByStart(Table):
    """A table of its own for every prompt."""

    def advance(self, tokens: Tensor) -> Tensor:
        super().advance(tokens)
        return torch.stack([self.log_probabilities(row) for row in self.rows])


@given(st.integers(0, 10**6), st.sampled_from([-3.0, 0.0, 0.6, 2.0]))
@example(20, -3.0)
@settings(max_examples=25)
def test_rows_are_searched_as_if_alone(seed: int, alpha: float) -> None:
    """A row that ends early neither changes nor is changed by the others."""
    one = SearchSettings(END, 3 * LONGEST, beams=2, length_penalty=alpha)
    starts = torch.arange(6)[:, None]
    together = beam_search(_ByStart(seed), starts, one)
    alone = [beam_search(_ByStart(seed), start[None], one)[0] for start in starts]
    assert together == alone


def test_length_penalty_is_wus_equation() -> None:
    assert penalty(1, 0.6) == 1.0
    assert penalty(7, 1.0) == 2.0
    assert penalty(100, 0.0) == 1.0
    longer, shorter = Hypothesis((1, 1, 1, 1, 1, 1), -2.2), Hypothesis((1,), -2.0)
    assert shorter.score(0.0) > longer.score(0.0)
    assert shorter.score(1.0) < longer.score(1.0)


def test_forbidden_tokens_are_never_generated() -> None:
    table = Table(1)
    free = greedy_search(table, torch.zeros(1, 1, dtype=torch.long), SearchSettings(END, LONGEST))[0].tokens
    forbidden = tuple({*free} - {END})[:1]
    for find, beams in ((greedy_search, 1), (beam_search, 2)):
        held = SearchSettings(END, LONGEST, beams=beams, forbidden=forbidden)
        found = find(Table(1), torch.zeros(1, 1, dtype=torch.long), held)[0].tokens
        assert not set(forbidden) & set(found)


def test_more_beams_than_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="5 beams of a vocabulary of 4 tokens; allowed: 1 to 4"):
        beam_search(Table(1), torch.zeros(1, 1, dtype=torch.long), SearchSettings(END, LONGEST, beams=5))
