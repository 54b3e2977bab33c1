"""Adjustable sizes: the sizes that can absorb a difference in budget, in their smallest possible steps."""

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm

from search_space.candidate import Candidate

STEPS_AT_MOST = 2**16


@dataclass(frozen=True)
class Dimension:
    """An adjustable size of one candidate: its path, its smallest step, and the resized candidate."""

    path: str
    step: int
    resized: Callable[[int], Candidate]
    """From a number of steps, at least 1, to the candidate; its budget increases with the steps."""
    discontinuities: tuple[int, ...] = ()
    """Numbers of steps at which the budget is not monotonic."""


def dimension(by: str, candidate: Candidate, tokens: int) -> Dimension:
    """Return the adjustable size of a candidate; `tokens` is the training budget at token share 1."""
    architecture, recipe = candidate.architecture, candidate.recipe
    if by == "tokens":
        tokens_per_step = recipe.tokens_per_step

        def with_updates(steps: int) -> Candidate:
            return candidate.model_copy(
                update={"recipe": recipe.model_copy(update={"token_share": steps * tokens_per_step / tokens})}
            )

        return Dimension("recipe.token_share", tokens_per_step, with_updates)
    groups = architecture.feed_forward_groups
    step = {"feed_forward_width": groups, "width": lcm(architecture.heads, groups), "depth": 1}[by]

    def resized(steps: int) -> Candidate:
        return candidate.model_copy(update={"architecture": architecture.model_copy(update={by: steps * step})})

    quotient, remainder = divmod(architecture.embedding_width, step)
    no_projection = by == "width" and remainder == 0  # width = embedding width needs no projection between them
    return Dimension(by, step, resized, (quotient,) if no_projection else ())


def nearest(budget: Callable[[int], float], target: float, discontinuities: tuple[int, ...] = ()) -> int:
    """Return the number of steps with the budget nearest to the target, by bisection.

    `budget` increases with the steps, except at `discontinuities`.
    """

    def monotonic(steps: int) -> float:
        """Return the budget, interpolated between the neighbours at a discontinuity."""
        return (
            (budget(steps - 1) + budget(steps + 1)) / 2 if steps in discontinuities and steps > 1 else budget(steps)
        )

    high = 1
    while monotonic(high) < target and high < STEPS_AT_MOST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if monotonic(middle) < target else (low, middle)
    candidates = {low - 1, low, high, high + 1, *discontinuities}
    return min((steps for steps in sorted(candidates) if steps >= 1), key=lambda steps: abs(budget(steps) - target))
