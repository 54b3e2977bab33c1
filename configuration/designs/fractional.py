"""A two-level regular fractional factorial: few runs for many factors, at the price of known aliases.

Box and Hunter 1961, The 2^(k-p) fractional factorial designs, Technometrics 3. At resolution 3 main effects are
confounded with two-way interactions, at 4 two-way interactions with each other, at 5 neither.
"""

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar, Literal

from pydantic import Field

from analysis.fractions import Fraction, smallest
from configuration.designs.axes import SeveralAxes, axis_violations, named, parent_of, present
from configuration.designs.point import ARMS_AT_MOST, Point, PointDesign, level
from foundation.errors import Violation
from search_space.candidate import Candidate

FACTORS_AT_MOST = 20
LETTERS = "ABCDEFGHJKLMNOPQRSTU"  # without I, which is the mean
WORDS_SHOWN = 15
ROMAN = {3: "III", 4: "IV", 5: "V"}


class Fractional(PointDesign):
    """`vary: { a: [1, 2], b: [1, 2], c: [1, 2], d: [1, 2] }, resolution: 4` is 8 points in place of 16.

    Every axis has two values. The run with all first values is in the fraction, so that a baseline with these values
    is one of the runs.
    """

    listed: ClassVar[bool] = False
    may_equal_baseline: ClassVar[bool] = True
    kind: Literal["fractional"] = "fractional"
    """Chooses a two-level fraction of the full factorial."""
    vary: SeveralAxes = Field(max_length=FACTORS_AT_MOST)
    """By path, the two levels of a factor."""
    resolution: Literal[3, 4, 5] = Field(examples=[4])
    """3: main effects are confounded with two-way interactions; 4: those with each other; 5: neither."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of runs; that of the full factorial if no fraction is small enough."""
        fraction = self.fraction
        return 2 ** len(self.vary) if fraction is None else fraction.runs

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the runs, the first basis factor fastest (Yates's order)."""
        fraction = self.fraction
        assert fraction is not None
        for run in range(fraction.runs):
            chosen = zip(self.vary.items(), fraction.bits(run), strict=True)
            changes = {path: values[bit] for (path, values), bit in chosen}
            levels = {path: level(value) for path, value in changes.items()}
            yield Point(named(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes without two values, and axes that are not present at every point."""
        for path, values in self.vary.items():
            if values and len(values) != 2:
                message = f"{len(values)} values; a fraction has two per factor. Did you mean factorial?"
                yield Violation(("vary", path), message)
            parent = parent_of(path, self.vary)
            lacking = (
                [option for option in self.vary[parent] if not present(path, {parent: option}, baseline)]
                if parent
                else []
            )
            if lacking:
                message = (
                    f"not a field of every {parent} that varies here; a fraction needs factors present at every point"
                )
                yield Violation(("vary", path), message)
        yield from axis_violations(self.vary, baseline)

    def notes(self) -> Iterator[str]:
        """Yield the letters of the factors, the resolution, the defining relation and the aliases."""
        fraction = self.fraction
        if fraction is None:
            return
        factors = len(self.vary)
        words = fraction.defining_relation() if factors - fraction.basis <= 10 else tuple(fraction.words())
        shortest = min(map(len, words), default=None)
        stated = "full, nothing is confounded" if shortest is None else f"resolution {ROMAN.get(shortest, shortest)}"
        size = f"2^({factors}-{factors - fraction.basis})" if words else f"2^{factors}"
        yield f"{size}, {fraction.runs} runs, {stated}"
        yield ", ".join(f"{letter} {path}" for letter, path in zip(LETTERS, self.vary, strict=False))
        if words:
            more = f" and {len(words) - WORDS_SHOWN} longer words" if len(words) > WORDS_SHOWN else ""
            yield f"I = {' = '.join(map(_signed, islice(words, WORDS_SHOWN)))}{more}"
        aliases = fraction.aliases()
        yield from (_alias(effects) for effects in aliases)
        if words and not aliases:
            yield "no main effect or two-way interaction is confounded with another"

    @property
    def fraction(self) -> Fraction | None:
        """The columns, None if the resolution needs more runs than the maximum number of arms."""
        return smallest(len(self.vary), self.resolution, ARMS_AT_MOST.bit_length() - 1)


def _signed(word: tuple[int, ...]) -> str:
    """Return a word with the sign of its product when first values count as -1 and second values as +1."""
    return ("-" if len(word) % 2 else "") + "".join(LETTERS[position] for position in word)


def _alias(effects: tuple[tuple[int, ...], ...]) -> str:
    """Return the aliased effects of one column; the sign is relative to the first effect."""
    first, *others = effects
    signs = ("-" if (len(first) + len(other)) % 2 else "" for other in others)
    letters = ("".join(LETTERS[position] for position in other) for other in others)
    named_first = "".join(LETTERS[position] for position in first)
    return " = ".join([named_first, *(sign + text for sign, text in zip(signs, letters, strict=True))])
