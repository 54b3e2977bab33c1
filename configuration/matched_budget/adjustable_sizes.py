"""The sizes that may absorb a difference in budget, in the steps in which they are possible."""

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm

from search_space.candidate import Candidate

STEPS_AT_MOST = 2**16


@dataclass(frozen=True)
class Dimension:
    """A size of one candidate that is free: its path, its smallest step, and the candidate with so many steps."""

    path: str
    step: int
    resized: Callable[[int], Candidate]
    """A candidate for every number of steps from 1; its budget rises with them."""
    discontinuities: tuple[int, ...] = ()
    """Numbers of steps at which the budget falls out of line."""


def dimension(by: str, candidate: Candidate, tokens: int) -> Dimension:
    """Return the free size of a candidate that is trained on `tokens` tokens where its share is whole."""
    architecture, recipe = candidate.architecture, candidate.recipe
    if by == "tokens":
        updates = recipe.tokens_per_step

        def longer(steps: int) -> Candidate:
            return candidate.model_copy(
                update={"recipe": recipe.model_copy(update={"token_share": steps * updates / tokens})}
            )

        return Dimension("recipe.token_share", updates, longer)
    groups = architecture.feed_forward_groups
    step = {"feed_forward_width": groups, "width": lcm(architecture.heads, groups), "depth": 1}[by]

    def resized(steps: int) -> Candidate:
        return candidate.model_copy(update={"architecture": architecture.model_copy(update={by: steps * step})})

    whole, rest = divmod(architecture.embedding_width, step)
    level = by == "width" and rest == 0  # at the embeddings' own width there is no map between the two
    return Dimension(by, step, resized, (whole,) if level else ())


def nearest(spent: Callable[[int], float], target: float, discontinuities: tuple[int, ...] = ()) -> int:
    """Return the number of steps whose spending is nearest to the target; it falls at discontinuities only."""

    def straight(steps: int) -> float:
        """Return the spending where the discontinuities are levelled out between their neighbours."""
        return (spent(steps - 1) + spent(steps + 1)) / 2 if steps in discontinuities and steps > 1 else spent(steps)

    high = 1
    while straight(high) < target and high < STEPS_AT_MOST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if straight(middle) < target else (low, middle)
    near = {low - 1, low, high, high + 1, *discontinuities}
    return min((steps for steps in sorted(near) if steps >= 1), key=lambda steps: abs(spent(steps) - target))
