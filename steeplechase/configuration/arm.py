"""An arm: a named candidate with its changes from the baseline, and notes on arms that are counted or pruned."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from search_space.candidate import Candidate
from search_space.overrides import apply, difference
from steeplechase.foundation.canonical import canonical, canonical_text, fingerprint
from steeplechase.foundation.schema import VARIANT_KEY, JsonValue

BASELINE = "baseline"


@dataclass(frozen=True)
class Arm:
    """One row of a table: its name, its candidate, and the candidate's changes from the baseline."""

    name: str
    candidate: Candidate
    changes: Mapping[str, JsonValue]
    levels: Mapping[str, JsonValue] = field(default_factory=dict)
    """Levels of the factors of its designs: by path a value, by component whether it is present.

    The baseline has levels if it is a point of a design. A field that the arm's option lacks has no level.
    """
    matches: str | None = None
    """Name of the arm that this is the budget-matched copy of (itself if it already has the baseline's budget); the
    first if several share the copy."""
    matched_arm: str | None = None
    """Name of this arm's budget-matched copy; its own name if it already has the baseline's budget."""
    matched_spend: float | None = None
    """Budget of the budget-matched copy, as a share of the baseline's."""
    tuning_trial_of: str | None = None
    """Of a tuning trial: the arm that is tuned. Such an arm is not a row of a table."""
    tuned_from: str | None = None
    """Of an arm at its tuned recipe: the arm at the shared recipe."""
    final_of: str | None = None
    """Of an arm of the comparison at the end of a search: its name there, such as that of the candidate."""

    @property
    def identity(self) -> str:
        """The candidate's canonical text: equal for equal candidates, independent of their names."""
        return canonical_text(canonical(self.candidate))

    @property
    def fingerprint(self) -> str:
        """The hash of its identity."""
        return fingerprint(canonical(self.candidate))


def baseline_arm(baseline: Candidate) -> Arm:
    """Return the arm that has the baseline's name and changes nothing."""
    return Arm(BASELINE, baseline, {})


def changed_arm(name: str, baseline: Candidate, changes: Mapping[str, Any]) -> Arm:
    """Return the baseline with changes as an arm. Raises InvalidOverride."""
    candidate = apply(baseline, changes)
    return Arm(name, candidate, difference(baseline, candidate))


def replaced_parts(baseline: Candidate, changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line per part that changes replace as a whole: what they leave out has its default there."""
    for part, value in changes.items():
        if part not in ("architecture", "recipe") or not isinstance(value, Mapping) or VARIANT_KEY in value:
            continue
        if lost := sorted(getattr(baseline, part).model_fields_set - {*value}):
            yield (
                f"{part} is replaced as a whole; {', '.join(lost)} of the baseline become the defaults. "
                f"To change single fields, write paths, such as {part}.{next(iter(value), lost[0])}"
            )


def changes_text(changes: Mapping[str, JsonValue]) -> str:
    """Return the changes on one line: `bottleneck_ratio 2, convolution span_dynamic (kernel_size 5)`."""
    return ", ".join(f"{path} {_value_text(value)}" for path, value in changes.items()) or "none"


def _value_text(value: JsonValue) -> str:
    if isinstance(value, float):
        return _short_number(value)
    if not isinstance(value, dict):
        return value if isinstance(value, str) else canonical_text(value)
    fields = ", ".join(f"{name} {_value_text(field)}" for name, field in value.items() if name != "kind")
    kind = str(value.get("kind", ""))
    return f"{kind} ({fields})".strip() if fields else kind


def _short_number(value: float) -> str:
    """Return a number with all its digits, in the shorter of its two notations: 0.003, 1e10."""
    plain = canonical_text(value)
    mantissa, _, exponent = str(Decimal(plain).normalize()).partition("E")
    scientific = f"{mantissa}e{int(exponent)}" if exponent else plain
    return min(plain, scientific, key=len)


COUNTED = (
    "parameters and FLOPs counted on the built module, FLOPs by torch's counter; where the module names no token "
    "embeddings, the output table of masked language modelling is included"
)


PRUNED = "pruned after pretraining: parameters are the most that may remain, FLOPs those of pretraining before"


def counting_note(arms: Iterable[Arm]) -> str | None:
    """Return the note with the names of such arms and of pruned ones, None without any."""
    arms = list(arms)
    counted = [arm.name for arm in arms if arm.candidate.architecture.is_counted]
    pruned = [arm.name for arm in arms if arm.candidate.recipe.pruning is not None]
    notes = [f"{', '.join(names)}: {note}" for names, note in ((counted, COUNTED), (pruned, PRUNED)) if names]
    return "; ".join(notes) or None
