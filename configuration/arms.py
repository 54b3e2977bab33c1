"""The roster: the arms of all designs of an experiment, each candidate once, and the points that cannot be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from configuration.arm import BASELINE, Arm, baseline_arm, changed_arm
from configuration.designs.point import ARMS_AT_MOST, Point, PointDesign
from foundation.errors import Violation
from search_space.candidate import Candidate
from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride

REASONS_TOLD = 3

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Rules:
    """What holds for the points of every design of an experiment."""

    constraints: tuple[str, ...] = ()
    skip: bool = False
    """Whether points that cannot be are left out and recorded; they are refused where they are not."""


@dataclass(frozen=True)
class Impossible:
    """A point that no arm can be, with the reasons in full."""

    name: str
    reasons: tuple[str, ...]


class ArmTable:
    """What the designs ask for, entered one after the other; the baseline is there from the start."""

    def __init__(self, baseline: Candidate, rules: Rules) -> None:
        self.baseline, self.rules = baseline, rules
        self.arms: list[Arm] = []
        """The baseline first."""
        self.impossible: list[Impossible] = []
        """Points that were left out."""
        self.aliases: dict[str, str] = {}
        """Names under which a later design asks for an arm that there is already."""
        self.violations: list[Violation] = []
        self._positions: dict[str, int] = {}
        self.add(baseline_arm(baseline))
        reason = self.reason(baseline)
        if reason is not None:
            self.violations.append(Violation(("constraints",), f"the baseline itself {reason}"))

    def enter(self, design: PointDesign, place: Place) -> None:
        """Add the arms of a design that is written at the place, or say why that cannot be."""
        broken = list(_too_many(design, self.baseline)) or list(design.own_violations(self.baseline))
        broken = broken or list(self._entered(design))
        self.violations += [violation.under(*place) for violation in without_repeats(broken)]

    def add(self, arm: Arm) -> None:
        """Enter an arm; where its candidate is there already, give that one the levels of both."""
        position = self._positions.setdefault(arm.identity, len(self.arms))
        if position == len(self.arms):
            self.arms.append(arm)
        else:
            known = self.arms[position]
            self.arms[position] = replace(known, levels={**known.levels, **arm.levels})

    def same_candidate(self, arm: Arm) -> Arm | None:
        """Return the arm that is the same candidate, None where there is none."""
        position = self._positions.get(arm.identity)
        return None if position is None else self.arms[position]

    def reason(self, candidate: Candidate) -> str | None:
        """Return the constraint that a candidate breaks, None where it breaks none."""
        return broken_by(candidate, self.rules.constraints)

    def _entered(self, design: PointDesign) -> Iterator[Violation]:
        earlier = {arm.name for arm in self.arms}
        refused: list[Impossible] = []
        for point in design.points(self.baseline):
            found = self._candidate(point)
            if isinstance(found, Arm):
                yield from self._named(found, point, design, earlier)
            elif self.rules.skip and (found.only_in_combination or not design.listed):
                self.impossible.append(_impossible(point, found))
            elif design.listed:
                yield from _placed(point, found.violations)
            else:
                refused.append(_impossible(point, found))
        if refused:
            yield Violation(("vary",), _counted(refused, design.size(self.baseline)))

    def _candidate(self, point: Point) -> Arm | InvalidOverride:
        try:
            arm = replace(changed_arm(point.name, self.baseline, point.changes), levels=point.levels)
        except InvalidOverride as impossible:
            return impossible
        reason = self.reason(arm.candidate)
        return arm if reason is None else InvalidOverride([Violation((), reason)], only_in_combination=True)

    def _named(self, arm: Arm, point: Point, design: PointDesign, earlier: set[str]) -> Iterator[Violation]:
        known, names = self.same_candidate(arm), {known.name for known in self.arms}
        if known is None or (arm.name in names and arm.name != known.name):
            if arm.name in names or arm.name in self.aliases:
                yield Violation(point.place, f"{arm.name} would name two candidates")
        elif known.name == BASELINE and not design.recurs:
            yield Violation(point.place, f"{arm.name} changes nothing: it is the baseline")
        elif known.name not in earlier:
            message = "stands twice" if known.name == arm.name else f"is the same candidate as {known.name}"
            yield Violation(point.place, f"{arm.name} {message}")
        elif arm.name not in ("", known.name):
            self.aliases[arm.name] = known.name
        self.add(arm)


def without_repeats(violations: Sequence[Violation]) -> list[Violation]:
    """Return the violations; one that several items of a list share is told once, at the list."""
    lists: dict[tuple[Place, str], list[Violation]] = {}
    for each in violations:
        inside_list = bool(each.path) and isinstance(each.path[-1], int)
        lists.setdefault((each.path[:-1] if inside_list else each.path, each.message), []).append(each)
    return [each[0] if len(each) == 1 else Violation(place, message) for (place, message), each in lists.items()]


def _impossible(point: Point, fault: InvalidOverride) -> Impossible:
    return Impossible(point.name, tuple(violation.message for violation in fault.violations))


def _placed(point: Point, violations: Sequence[Violation]) -> Iterator[Violation]:
    for violation in violations:
        if not violation.path:
            yield Violation(point.place, f"{point.name} {violation.message}")
        elif point.place[0] == "components":  # several components make the arm
            yield Violation(point.place, f"{point.name}: {violation.message}")
        elif len(point.place) > 2:  # the value's own place says it all
            yield Violation(point.place, violation.message)
        else:
            yield violation.under(*point.place)


def _too_many(design: PointDesign, baseline: Candidate) -> Iterator[Violation]:
    size = design.size(baseline)
    if size > ARMS_AT_MOST:
        place = ("vary",) if "vary" in type(design).model_fields else ()
        message = f"{size:,} points; at most {ARMS_AT_MOST:,} can be arms. Did you mean fractional or search?"
        yield Violation(place, message)


def _counted(refused: Sequence[Impossible], size: int) -> str:
    first = "; ".join(f"{one.name or BASELINE}: {one.reasons[0]}" for one in refused[:REASONS_TOLD])
    more = f"; and {len(refused) - REASONS_TOLD} more" if len(refused) > REASONS_TOLD else ""
    return f"{len(refused)} of {size} points are impossible. {first}{more}. `on_invalid: skip` leaves them out"
