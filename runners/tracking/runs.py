"""Pure mapping of the ledger's rows to MLflow runs: a study, its arms, their trials."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runners.tracking.measurements import HELD_OUT_LOSS, arm_values, curve_points, final_values, scored_tasks
from runners.tracking.mirrored_run import (
    IDENTITY_TAG,
    NOTE_TAG,
    STOP_REASON,
    STUDY_TAG,
    MirroredRun,
    Point,
    RunStatus,
)
from runners.tracking.run_texts import (
    INCOMPLETE,
    STATUS,
    arm_status,
    cut,
    flat_parameters,
    interruption,
    standing,
    stop_reason,
)
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.records import ArmRow, Record, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.trial_history import TrialHistory

ALL = "all"  # value of a grouping tag on a run above the group
LONGEST_NAME_CHARACTERS = 150


def study_name(experiment: str, scale: str) -> str:
    """Return the name of the MLflow experiment."""
    return f"{experiment}-{scale}"


def study_identity(snapshot: Snapshot) -> str:
    """Return the identity of a study: its name, and what its ledger has drawn, if it has."""
    name = study_name(snapshot.experiment, snapshot.scale)
    return f"{name}@{snapshot.drawn_identity}" if snapshot.drawn_identity else name


def projected(snapshot: Snapshot) -> tuple[MirroredRun, ...]:
    """Return every run of the study, parents first."""
    table = _Projection(snapshot, scored_tasks(snapshot))
    runs = [table.study(), *table.arms(snapshot.arms)]
    if (tuning := snapshot.tuning) is not None:
        tried = replace(snapshot, labels=tuning.tried.labels, histories=tuning.histories)
        runs += _Projection(tried, table.scored, "tuning ").arms(tuning.arms)
    if (final := snapshot.final) is not None:
        compared = replace(snapshot, labels=final.plan.labels, arms=final.arms, histories=final.histories)
        runs += _Projection(compared, scored_tasks(compared), "final ").arms(final.arms)
    return tuple(runs)


@dataclass(frozen=True)
class _Projection:
    snapshot: Snapshot
    scored: tuple[str, ...]
    prefix: str = ""
    """Prefix of the level tag: arms of tuning are not rows of the table."""

    def arms(self, rows: Sequence[ArmRow]) -> Iterator[MirroredRun]:
        """Yield every arm, followed by its trials."""
        for arm in rows:
            yield self.arm(arm)
            for history in self._by_arm.get(arm.name, ()):
                yield self.trial(arm, history)

    def study(self) -> MirroredRun:
        snapshot = self.snapshot
        status = TrialStatus.FINISHED if snapshot.over else TrialStatus.RUNNING
        records = [record for history in snapshot.every_history for record in history.records]
        tags = {
            NOTE_TAG: str(snapshot.document.get("question", self._name)),
            "trials": _status_counts(snapshot.every_history),
        }
        return self._run(("study", ALL, ALL), status, self._name, tags, [*snapshot.shared, *records])

    def arm(self, arm: ArmRow) -> MirroredRun:
        histories = self._by_arm.get(arm.name, ())
        status = arm_status(histories)
        tags = {
            NOTE_TAG: "; ".join(f"{path}: {canonical_text(value)}" for path, value in arm.changes.items())
            or "the baseline",
            "trials": _status_counts(histories),
        }
        if status is TrialStatus.STOPPED:
            tags["standing"] = standing(histories)
        run = self._run(
            ("arm", arm.name, ALL),
            status,
            self._named(arm.name, arm),
            tags,
            [record for history in histories for record in history.records],
        )
        sizes = (("size/parameters", arm.parameters), ("size/train_flops", arm.train_flops))
        values = [*arm_values([self._finals(each) for each in histories]), *sizes] if STATUS[status].ended else []
        points = tuple(Point(key, value) for key, value in values)
        return replace(run, parameters=flat_parameters(arm.candidate), points=points)

    def trial(self, arm: ArmRow, history: TrialHistory) -> MirroredRun:
        tags = {STOP_REASON: reason} if (reason := stop_reason(history)) else {}
        if history.status is TrialStatus.STOPPED:
            tags["standing"] = standing([history])
        place = ("trial", arm.name, str(history.trial.seed))
        run = self._run(place, history.status, self._named(history.trial.name, arm), tags, history.records)
        finals = (Point(key, value) for key, value in self._finals(history).items())
        points = (*finals, *curve_points(history, self.snapshot.labels))
        return replace(run, parameters=flat_parameters(arm.candidate), points=points)

    def _run(
        self,
        place: tuple[str, str, str],
        status: TrialStatus,
        name: str,
        tags: dict[str, str],
        records: Sequence[Record],
    ) -> MirroredRun:
        """Return a run of a level, an arm and a seed, without what was measured."""
        (level, arm, seed), snapshot = place, self.snapshot
        path = [study_identity(snapshot), *(each for each in (arm, seed) if each != ALL)]
        reason, settings = interruption(status, snapshot), snapshot.manifest.get("settings")
        of_all = {
            IDENTITY_TAG: "/".join(path),
            STUDY_TAG: path[0],
            "experiment": snapshot.experiment,
            "scale": snapshot.scale,
            "level": level if level == "study" else f"{self.prefix}{level}",
            "arm": arm,
            "seed": seed,
            "standing": INCOMPLETE if reason else status.value,
            **({STOP_REASON: reason} if reason else {}),
            **({"settings": cut("; ".join(map(str, settings)))} if isinstance(settings, list) else {}),
        }
        return MirroredRun(
            identity=of_all[IDENTITY_TAG],
            parent="/".join(path[:-1]) or None,
            name=name,
            status=RunStatus.KILLED if reason else STATUS[status],  # until the run is resumed
            tags={**of_all, **tags},
            parameters={},
            points=(),
            compute_milliseconds=round(1000 * sum(record.seconds for record in records)),
        )

    def _finals(self, history: TrialHistory) -> dict[str, float]:
        """Return a trial's final values, without a held-out loss that is another than the baseline's."""
        values = final_values(history, self.snapshot.labels, self.scored)
        hidden = HELD_OUT_LOSS if history.trial.arm in self._other_loss else None
        return {key: value for key, value in values.items() if key != hidden}

    def _named(self, name: str, arm: ArmRow) -> str:
        """Return the name of an arm's or a trial's run; of a search, with what varies."""
        design = self.snapshot.document.get("design")
        designs = design if isinstance(design, list) else [design]
        searched = any(isinstance(each, dict) and each.get("kind") == "search" for each in designs)
        text = f"{name}: {changes_text(arm.changes)}" if searched and arm.name != BASELINE else name
        return text if len(text) <= LONGEST_NAME_CHARACTERS else f"{text[: LONGEST_NAME_CHARACTERS - 1]}…"

    @property
    def _name(self) -> str:
        return study_name(self.snapshot.experiment, self.snapshot.scale)

    @cached_property
    def _by_arm(self) -> dict[str, list[TrialHistory]]:
        """The trials of every arm by seed."""
        found: dict[str, list[TrialHistory]] = {}
        for history in sorted(self.snapshot.histories, key=lambda each: each.trial.seed):
            found.setdefault(history.trial.arm, []).append(history)
        return found

    @cached_property
    def _other_loss(self) -> frozenset[str]:
        return self.snapshot.arms_with_other_loss


def _status_counts(histories: Sequence[TrialHistory]) -> str:
    counts = Counter(history.status for history in histories)
    return ", ".join(f"{counts[status]} {status.value}" for status in TrialStatus if counts[status]) or "none yet"
