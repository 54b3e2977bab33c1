"""The one door to Optuna: proposes points of a search space from what earlier candidates achieved.

The study lives in memory and is rebuilt from the ledger for every cohort. A candidate that was stopped is told as
PRUNED with the losses it had, one that diverged or failed as FAIL, so that no short run passes for a long one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.designs.search import Search
from search_space.candidate import Candidate
from search_space.change import ImpossibleChange, absolute_path, apply
from search_space.declaration import JsonValue, canonical, canonical_text
from search_space.streams import stream_seed

if TYPE_CHECKING:
    import optuna

ASKS_OF_SAMPLER = 20  # TPE asks for its favourite again and again; then a point is drawn evenly
ASKS_PER_POINT = 200  # repeats and impossible points are drawn again; a space this worn out is exhausted


@dataclass(frozen=True)
class Seen:
    """What a candidate achieved: its changes from the baseline, and its held-out loss at each mark it reached."""

    changes: Mapping[str, JsonValue]
    losses: tuple[float, ...]
    complete: bool
    """Whether it spent the whole budget."""


def propose(
    design: Search, baseline: Candidate, seen: tuple[Seen, ...], cohort: int, count: int
) -> tuple[dict[str, Any], ...]:
    """Return up to `count` new points as changes; fewer only where the space has no more that can be found."""
    known = {_identity(apply(baseline, dict(one.changes))) for one in seen} | {_identity(baseline)}
    study = _study(design, baseline, seen, cohort)
    own, even = study.sampler, _even_sampler(design, cohort)
    points: list[dict[str, Any]] = []
    misses = 0
    for _ in range(ASKS_PER_POINT * count):
        if len(points) == count:
            break
        study.sampler = own if misses < ASKS_OF_SAMPLER else even
        trial = study.ask()
        point = _draw(design, baseline, trial)
        identity = None if point is None else _possible(baseline, point)
        misses += 1
        if point is None or identity is None or identity in known:
            study.tell(trial, state=_states().FAIL)
            continue
        misses = 0
        known.add(identity)
        points.append(point)
    return tuple(points)


def importance(design: Search, baseline: Candidate, seen: tuple[Seen, ...]) -> dict[str, float]:
    """Return each axis's share of the variance of the loss at the first mark, empty where too few have reached it."""
    import optuna

    study = _study(design, baseline, (), 0)
    for one in seen:
        if one.losses:
            study.add_trial(_told(design, baseline, Seen(one.changes, one.losses[:1], complete=True)))
    shared = [path for path in design.space if "." not in path]
    try:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, params=shared))
    except (ValueError, RuntimeError):
        return {}


def _study(design: Search, baseline: Candidate, seen: tuple[Seen, ...], cohort: int) -> "optuna.Study":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed = stream_seed(design.seed, "proposals", cohort) % 2**32
    samplers = {
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed, n_startup_trials=design.cohort, constant_liar=True),
    }
    study = optuna.create_study(direction="minimize", sampler=samplers[design.sampler]())  # type: ignore[no-untyped-call]
    for one in seen:
        study.add_trial(_told(design, baseline, one))
    return study


def _even_sampler(design: Search, cohort: int) -> "optuna.samplers.BaseSampler":
    import optuna

    return optuna.samplers.RandomSampler(seed=stream_seed(design.seed, "even proposals", cohort) % 2**32)


def _told(design: Search, baseline: Candidate, one: Seen) -> "optuna.trial.FrozenTrial":
    import optuna

    whole = _point_of(design, apply(baseline, dict(one.changes)))
    point = {path: label for path, label in whole.items() if label in _labels(design, path)}
    state = _states().COMPLETE if one.complete else _states().PRUNED if one.losses else _states().FAIL
    return optuna.trial.create_trial(
        state=state,
        value=one.losses[-1] if one.complete else None,
        params=point,
        distributions={path: optuna.distributions.CategoricalDistribution(_labels(design, path)) for path in point},
        intermediate_values=dict(enumerate(one.losses)),
    )


def _draw(design: Search, baseline: Candidate, trial: "optuna.Trial") -> dict[str, Any] | None:
    """Draw every axis that the point has, an option's own field only where the chosen option has it.

    None where an option cannot be with the baseline's recipe.
    """
    point: dict[str, Any] = {}
    for path in sorted(design.space, key=lambda path: path.count(".")):
        chosen = _tolerant(baseline, point)
        if chosen is None:
            return None
        if path not in _point_of(design, chosen):
            continue
        labels = _labels(design, path)
        label = trial.suggest_categorical(path, labels)
        point[path] = design.space[path][labels.index(label)]
    return point


def _tolerant(baseline: Candidate, point: dict[str, Any]) -> Candidate | None:
    """Return the candidate with its options chosen, whatever its sizes: only which axes it has is asked of it."""
    options = {path: value for path, value in point.items() if isinstance(value, Mapping | str)}
    try:
        return apply(baseline, options)
    except ImpossibleChange:
        return None


def _point_of(design: Search, candidate: Candidate) -> dict[str, str]:
    """Return a candidate's value on every axis that it has, as the axis's labels."""
    document: dict[str, Any] = candidate.model_dump()
    point: dict[str, str] = {}
    for path in design.space:
        place: Any = document
        for part in absolute_path(path):
            place = place.get(part) if isinstance(place, dict) else None
        if place is not None:
            point[path] = _label(place)
    return point


def _labels(design: Search, path: str) -> list[str]:
    return [_label(value) for value in design.space[path]]


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value["kind"]) if isinstance(value, Mapping) else canonical_text(value)


def _possible(baseline: Candidate, point: dict[str, Any]) -> str | None:
    try:
        return _identity(apply(baseline, point))
    except ImpossibleChange:
        return None


def _identity(candidate: Candidate) -> str:
    return canonical_text(canonical(candidate))


def _states() -> Any:
    from optuna.trial import TrialState

    return TrialState
