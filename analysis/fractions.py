"""Regular two-level fractions as linear codes: generators, defining relation and aliases.

Box and Hunter 1961, The 2^(k-p) fractional factorial designs, Technometrics 3. A factor is a non-zero vector over the
basis factors; resolution R means that any R - 1 of the vectors are independent.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

EFFORT = 20_000  # search limit per size, in vectors; the known sizes need a few thousand


@dataclass(frozen=True)
class Fraction:
    """The columns of a fraction: one vector per factor, the basis factors being the unit vectors."""

    vectors: tuple[int, ...]
    basis: int
    """Number of basis factors; the fraction has 2^basis runs."""

    @property
    def runs(self) -> int:
        """Points of the fraction."""
        return 1 << self.basis

    def bits(self, run: int) -> tuple[int, ...]:
        """Return each factor's level in a run, 0 or 1; run 0 has every factor at 0."""
        return tuple((vector & run).bit_count() % 2 for vector in self.vectors)

    def words(self) -> Iterator[tuple[int, ...]]:
        """Yield the generators' words: sets of factors, by index, whose product is constant over the runs."""
        units = {vector: position for position, vector in enumerate(self.vectors) if vector.bit_count() == 1}
        for position, vector in enumerate(self.vectors):
            if vector.bit_count() > 1:
                parents = sorted(units[1 << bit] for bit in range(self.basis) if vector >> bit & 1)
                yield (*parents, position)

    def defining_relation(self) -> tuple[tuple[int, ...], ...]:
        """Return every product of the generators' words, shortest first: 2^p - 1 of them."""
        found: set[frozenset[int]] = {frozenset()}
        for word in self.words():
            found |= {known ^ frozenset(word) for known in found}
        return tuple(sorted((tuple(sorted(word)) for word in found if word), key=lambda word: (len(word), word)))

    def aliases(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Return the sets of aliased main effects and two-way interactions."""
        columns: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for order in (1, 2):
            for effect in combinations(range(len(self.vectors)), order):
                column = 0
                for position in effect:
                    column ^= self.vectors[position]
                columns[column].append(effect)
        return tuple(tuple(effects) for effects in columns.values() if len(effects) > 1)


@cache
def smallest(factors: int, resolution: int, basis_at_most: int) -> Fraction | None:
    """Return the smallest fraction that the search finds, None if it has more than 2^basis_at_most runs."""
    for basis in range(min(resolution - 1, factors), basis_at_most + 1):
        if basis >= factors:
            return Fraction(tuple(1 << bit for bit in range(factors)), factors)
        units = tuple(1 << bit for bit in range(basis))
        chosen = _extended(units, factors, resolution, basis)
        if chosen is not None:
            return Fraction(chosen, basis)
    return None


def _extended(units: tuple[int, ...], factors: int, resolution: int, basis: int) -> tuple[int, ...] | None:
    """Return the units with further vectors, such that any `resolution - 1` of all are independent; depth first."""
    effort = EFFORT
    heaviest_first = sorted(range(1, 1 << basis), key=lambda vector: (-vector.bit_count(), vector))

    def grow(chosen: tuple[int, ...], candidates: list[int]) -> tuple[int, ...] | None:
        nonlocal effort
        if len(chosen) == factors:
            return chosen
        for place, vector in enumerate(candidates):
            effort -= 1
            if effort < 0 or len(candidates) - place < factors - len(chosen):
                return None
            taken = (*chosen, vector)
            new = _sums(taken, resolution - 2, vector)
            found = grow(taken, [other for other in candidates[place + 1 :] if other not in new])
            if found is not None:
                return found
        return None

    taken = _sums(units, resolution - 2, None)
    return grow(units, [vector for vector in heaviest_first if vector not in taken])


def _sums(vectors: tuple[int, ...], terms: int, with_vector: int | None) -> set[int]:
    """Return the sums of up to `terms` of the vectors, restricted to those with `with_vector` if given."""
    others = [vector for vector in vectors if vector != with_vector]
    start, most = (0, terms) if with_vector is None else (with_vector, terms - 1)
    found = {start}
    layer = [(start, -1)]
    for _ in range(most):
        layer = [(total ^ others[place], place) for total, last in layer for place in range(last + 1, len(others))]
        found |= {total for total, _ in layer}
    return found
