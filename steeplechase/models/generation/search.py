"""Greedy and beam search. Length penalty: Wu et al. 2016, 1609.08144, eq. 14, as in the Transformer's Table 2."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from steeplechase.models.generation.decoding import Decoding


@dataclass(frozen=True)
class SearchSettings:
    """How a continuation is searched for."""

    end: int
    """The token that ends it."""
    longest: int
    """The most tokens of a continuation, its end included."""
    beams: int = 1
    """Hypotheses that are kept at each step; 1 is greedy search."""
    length_penalty: float = 0.0
    """α: a hypothesis of n tokens is ranked by its log-probability over ((5 + n) / 6)^α; 0 ranks by probability."""
    forbidden: tuple[int, ...] = ()
    """Tokens that are never generated, such as padding."""


@dataclass(frozen=True)
class Hypothesis:
    """A continuation without its end, and its log-probability in nats, with its end where it has one."""

    tokens: tuple[int, ...]
    log_probability: float
    ended: bool = True

    def score(self, length_penalty: float) -> float:
        """Return the rank: higher is better."""
        return self.log_probability / penalty(len(self.tokens) + self.ended, length_penalty)


def penalty(length: int, length_penalty: float) -> float:
    """Return the divisor of the log-probability of `length` tokens."""
    return float(((5 + length) / 6) ** length_penalty)


@torch.inference_mode()
def greedy_search(
    decoding: Decoding, prompt: Int[Tensor, "rows prompt"], settings: SearchSettings
) -> list[Hypothesis]:
    """Return the continuation of each row by the most probable token at each step."""
    rows, new = len(prompt), prompt
    forbidden = torch.tensor(settings.forbidden, dtype=torch.long, device=prompt.device)
    finished = torch.zeros(rows, dtype=torch.bool, device=prompt.device)
    total = torch.zeros(rows, dtype=torch.float64, device=prompt.device)
    columns: list[Tensor] = []
    while len(columns) < settings.longest and not bool(finished.all()):
        found, token = _allowed(decoding.advance(new), forbidden).max(-1)
        token = token.masked_fill(finished, settings.end)
        total += found.double().masked_fill_(finished, 0.0)
        finished |= token == settings.end
        columns.append(token)
        new = token[:, None]
    tokens = torch.stack(columns, 1).tolist()
    return [
        Hypothesis(_until(row, settings.end), sum_of_row, settings.end in row)
        for row, sum_of_row in zip(tokens, total.tolist(), strict=True)
    ]


@torch.inference_mode()
def beam_search(decoding: Decoding, prompt: Int[Tensor, "rows prompt"], settings: SearchSettings) -> list[Hypothesis]:
    """Return the best continuation of each row; the decoding has `beams` consecutive rows for each of the prompt.

    A row ends when no hypothesis under way can still beat the `beams` that have ended, or at `longest` tokens. Raises
    ValueError for more beams than tokens.
    """
    beams = settings.beams
    rows, device = len(prompt), prompt.device
    forbidden = torch.tensor(settings.forbidden, dtype=torch.long, device=device)
    log_probabilities = _allowed(decoding.advance(prompt.repeat_interleave(beams, 0)), forbidden)
    vocabulary = log_probabilities.shape[1]
    if beams > vocabulary:
        raise ValueError(f"{beams} beams of a vocabulary of {vocabulary} tokens; allowed: 1 to {vocabulary}")
    scores = torch.full((rows, beams), -torch.inf, dtype=torch.float64, device=device)
    scores[:, 0] = 0.0  # at first all hypotheses of a row are equal
    under_way = torch.empty(rows, beams, 0, dtype=torch.long, device=device)
    ended = [_Ended(settings) for _ in range(rows)]
    for length in range(1, settings.longest + 1):
        totals = scores[..., None] + log_probabilities.double().view(rows, beams, vocabulary)
        best, places = totals.flatten(1).topk(min(2 * beams, beams * vocabulary), 1)
        parents, tokens = places // vocabulary, places % vocabulary
        best_score = _keep_ended(ended, best, under_way, parents, tokens)
        # candidates that go on, first those that have not ended; as many ended ones as are needed behind them
        order = (tokens == settings.end).long().argsort(dim=1, stable=True)[:, :beams]
        scores = best.gather(1, order).masked_fill(tokens.gather(1, order) == settings.end, -torch.inf)
        parents, tokens = parents.gather(1, order), tokens.gather(1, order)
        under_way = torch.cat(
            [under_way.gather(1, parents[..., None].expand(-1, -1, length - 1)), tokens[..., None]], 2
        )
        if length == settings.longest or all(
            each.is_decided(row, length) for each, row in zip(ended, best_score, strict=True)
        ):
            break
        decoding.reorder((parents + beams * torch.arange(rows, device=device)[:, None]).flatten())
        log_probabilities = _allowed(decoding.advance(tokens.view(-1, 1)), forbidden)
    for each, hypotheses, row in zip(ended, under_way.tolist(), scores.tolist(), strict=True):
        each.keep_unfinished(hypotheses, row)
    return [each.best for each in ended]


class _Ended:
    """The best hypotheses of a row that have ended."""

    def __init__(self, settings: SearchSettings) -> None:
        self._settings, self._hypotheses = settings, list[Hypothesis]()

    def add(self, hypothesis: Hypothesis) -> None:
        self._hypotheses.append(hypothesis)
        self._hypotheses.sort(key=self._score, reverse=True)
        del self._hypotheses[self._settings.beams :]

    def is_decided(self, best_under_way: float, length: int) -> bool:
        """Return whether a hypothesis under way of `length` tokens is behind all that have ended, wherever it ends.

        Its most favourable length is the longest, and with a penalty below 0 the next one.
        """
        if len(self._hypotheses) < self._settings.beams:
            return best_under_way == -torch.inf
        alpha = self._settings.length_penalty
        bound = best_under_way / penalty(self._settings.longest if alpha >= 0 else length + 1, alpha)
        return bound <= self._score(self._hypotheses[-1])

    def keep_unfinished(self, hypotheses: list[list[int]], scores: list[float]) -> None:
        """Add the hypotheses under way where fewer than `beams` have ended."""
        missing = self._settings.beams - len(self._hypotheses)
        for tokens, score in list(zip(hypotheses, scores, strict=True))[:missing]:
            if score != -torch.inf:
                self.add(Hypothesis(tuple(tokens), score, ended=False))

    @property
    def best(self) -> Hypothesis:
        return self._hypotheses[0]

    def _score(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score(self._settings.length_penalty)


def _keep_ended(
    ended: Iterable[_Ended],
    best: Float[Tensor, "rows candidates"],
    under_way: Int[Tensor, "rows beams length"],
    parents: Int[Tensor, "rows candidates"],
    tokens: Int[Tensor, "rows candidates"],
) -> list[float]:
    """Keep the candidates that end, if they are among the first `beams`; return the best score of those that do not.

    The device is read once: scores, ends and hypotheses as numbers of float64, which holds every token exactly.
    """
    beams = under_way.shape[1]
    candidates = torch.cat([best[..., None], parents[..., None], tokens[..., None]], -1)
    read = torch.cat([candidates.flatten(1), under_way.flatten(1).double()], 1).tolist()
    length, numbers = under_way.shape[2], 3 * tokens.shape[1]
    remaining = []
    for each, row in zip(ended, read, strict=True):
        of_row = [row[first : first + 3] for first in range(0, numbers, 3)]
        for score, parent, token in of_row[:beams]:
            if token == each._settings.end and score != -torch.inf:
                first = numbers + int(parent) * length
                each.add(Hypothesis(tuple(map(int, row[first : first + length])), score))
        going_on = (score for score, _, token in of_row if token != each._settings.end)
        remaining.append(max(going_on, default=-torch.inf))
    return remaining


def _allowed(log_probabilities: Float[Tensor, "rows vocab"], forbidden: Int[Tensor, " forbidden"]) -> Tensor:
    return log_probabilities.index_fill_(1, forbidden, -torch.inf)


def _until(row: list[int], end: int) -> tuple[int, ...]:
    return tuple(row[: row.index(end)] if end in row else row)
