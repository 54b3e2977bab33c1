"""The arm table: the arms of all designs of an experiment, each candidate once, and the impossible points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from search_space.candidate import Candidate
from search_space.constraints import broken_by
from search_space.overrides import INIT_CHECKPOINT, InvalidOverride, with_lists
from steeplechase.configuration.arm import BASELINE, Arm, baseline_arm, changed_arm, replaced_parts
from steeplechase.configuration.designs.point import ARMS_AT_MOST, Point, PointDesign
from steeplechase.foundation.errors import Violation

REASONS_SHOWN = 3

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Rules:
    """Rules for the points of all designs of an experiment."""

    constraints: tuple[str, ...] = ()
    skip: bool = False
    """Whether impossible points are recorded and left out; they are errors otherwise."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What an arm is fine-tuned with where it changes nothing; equal values of an arm are no change."""
    init_checkpoint: str | None = None
    """What an arm starts from that names nothing; the same name in an arm is no change."""

    def in_effect(self, changes: Mapping[str, Any], baseline: Candidate) -> dict[str, Any]:
        """Return the changes without those that say what holds without them, of the baseline too."""
        return {path: value for path, value in changes.items() if not self._is_default(path, value, baseline)}

    def _is_default(self, path: str, value: Any, baseline: Candidate) -> bool:
        if path == INIT_CHECKPOINT:
            return baseline.init_checkpoint is None and value == self.init_checkpoint
        part, _, name = path.partition(".")
        if part != "fine_tuning" or name not in self.defaults:
            return False
        return getattr(baseline.fine_tuning, name) is None and value == self.defaults[name]


@dataclass(frozen=True)
class Impossible:
    """An impossible point of a design, with the reasons."""

    name: str
    reasons: tuple[str, ...]


class ArmTable:
    """The arms of all designs, added design by design; the baseline is the first arm."""

    def __init__(self, baseline: Candidate, rules: Rules) -> None:
        self.baseline, self.rules = baseline, rules
        self.arms: list[Arm] = []
        """The baseline first."""
        self.impossible: list[Impossible] = []
        """Impossible points that were left out."""
        self.aliases: dict[str, str] = {}
        """Names that later designs give to an existing arm."""
        self.violations: list[Violation] = []
        self._positions: dict[str, int] = {}
        self.add(baseline_arm(baseline))
        reason = self.reason(baseline)
        if reason is not None:
            self.violations.append(Violation(("constraints",), f"the baseline itself {reason}"))

    def add_design(self, design: PointDesign, location: Location) -> None:
        """Add the arms of a design, or its violations; `location` is its path in the experiment."""
        violations = list(_too_many(design, self.baseline)) or list(design.own_violations(self.baseline))
        violations = violations or list(self._add_points(design))
        self.violations += [violation.under(*location) for violation in without_repeats(violations)]
        self._name_levels_of_baseline()

    def add(self, arm: Arm) -> None:
        """Add an arm; an existing arm with the same candidate gets its levels instead."""
        position = self._positions.setdefault(arm.identity, len(self.arms))
        if position == len(self.arms):
            self.arms.append(arm)
        else:
            known = self.arms[position]
            self.arms[position] = replace(known, levels={**known.levels, **arm.levels})

    def same_candidate(self, arm: Arm) -> Arm | None:
        """Return the existing arm with the same candidate, None if there is none."""
        position = self._positions.get(arm.identity)
        return None if position is None else self.arms[position]

    def reason(self, candidate: Candidate) -> str | None:
        """Return a message about the constraint that a candidate breaks, None if it breaks none."""
        return broken_by(candidate, self.rules.constraints)

    def _add_points(self, design: PointDesign) -> Iterator[Violation]:
        earlier = {arm.name for arm in self.arms}
        impossible: list[Impossible] = []
        for point in design.points(self.baseline):
            arm = self._arm_of(point)
            if isinstance(arm, Arm):
                yield from self._add_named(arm, point, design, earlier)
            elif self.rules.skip and (arm.only_in_combination or not design.listed):
                self.impossible.append(_impossible(point, arm))
            elif design.listed:
                hints = replaced_parts(self.baseline, point.changes) if arm.only_in_combination else ()
                yield from _located(point, arm.violations, "".join(f". {hint}" for hint in hints))
            else:
                impossible.append(_impossible(point, arm))
        if impossible:
            yield Violation(("vary",), _summary(impossible, design.size(self.baseline)))

    def _arm_of(self, point: Point) -> Arm | InvalidOverride:
        changes = self.rules.in_effect(point.changes, self.baseline)
        try:
            made = changed_arm(point.name, self.baseline, changes)
        except InvalidOverride as error:
            return error
        shown = with_lists(self.baseline, made.candidate, made.changes)
        arm = replace(made, changes=shown, levels=point.levels)
        reason = self.reason(arm.candidate)
        return arm if reason is None else InvalidOverride([Violation((), reason)], only_in_combination=True)

    def _name_levels_of_baseline(self) -> None:
        """Give the baseline its levels of the factors whose values an experiment declares for all arms."""
        known = {f"fine_tuning.{name}": value for name, value in self.rules.defaults.items()}
        known |= {f"fine_tuning.{name}": value for name, value in self.baseline.fine_tuning.values.items()}
        known[INIT_CHECKPOINT] = self.baseline.init_checkpoint or self.rules.init_checkpoint
        levels = {name: known[name] for arm in self.arms for name in arm.levels if name in known}
        self.arms[0] = replace(self.arms[0], levels={**levels, **self.arms[0].levels})

    def _add_named(self, arm: Arm, point: Point, design: PointDesign, earlier: set[str]) -> Iterator[Violation]:
        known, names = self.same_candidate(arm), {known.name for known in self.arms}
        if known is None or (arm.name in names and arm.name != known.name):
            if arm.name in names or arm.name in self.aliases:
                yield Violation(point.location, f"{arm.name} is the name of two different candidates")
        elif known.name == BASELINE and not design.may_equal_baseline:
            yield Violation(point.location, f"{arm.name} changes nothing: it is the baseline")
        elif known.name not in earlier:
            message = "is listed twice" if known.name == arm.name else f"is the same candidate as {known.name}"
            yield Violation(point.location, f"{arm.name} {message}")
        elif arm.name not in ("", known.name):
            self.aliases[arm.name] = known.name
        self.add(arm)


def without_repeats(violations: Sequence[Violation]) -> list[Violation]:
    """Return the violations; one that several items of a list share is reported once, at the list."""
    grouped: dict[tuple[Location, str], list[Violation]] = {}
    for violation in violations:
        inside_list = bool(violation.path) and isinstance(violation.path[-1], int)
        location = violation.path[:-1] if inside_list else violation.path
        grouped.setdefault((location, violation.message), []).append(violation)
    return [
        group[0] if len(group) == 1 else Violation(location, message)
        for (location, message), group in grouped.items()
    ]


def _impossible(point: Point, error: InvalidOverride) -> Impossible:
    return Impossible(point.name, tuple(violation.message for violation in error.violations))


def _located(point: Point, violations: Sequence[Violation], hint: str) -> Iterator[Violation]:
    for violation in violations:
        message = f"{violation.message}{hint}"
        if not violation.path:
            yield Violation(point.location, f"{point.name} {message}")
        elif point.location[0] == "components":  # the arm has several components
            yield Violation(point.location, f"{point.name}: {message}")
        elif len(point.location) > 2:  # the location is that of one value
            yield Violation(point.location, message)
        else:
            yield Violation(violation.path, message).under(*point.location)


def _too_many(design: PointDesign, baseline: Candidate) -> Iterator[Violation]:
    size = design.size(baseline)
    if size > ARMS_AT_MOST:
        location = ("vary",) if "vary" in type(design).model_fields else ()
        message = f"{size:,} points; at most {ARMS_AT_MOST:,} can be arms. Did you mean search?"
        yield Violation(location, message)


def _summary(impossible: Sequence[Impossible], size: int) -> str:
    first = "; ".join(f"{point.name or BASELINE}: {point.reasons[0]}" for point in impossible[:REASONS_SHOWN])
    more = f"; and {len(impossible) - REASONS_SHOWN} more" if len(impossible) > REASONS_SHOWN else ""
    return f"{len(impossible)} of {size} points are impossible. {first}{more}. `on_invalid: skip` leaves them out"
