"""Pure mapping of the ledger's rows to MLflow runs: a study, its arms, their trials."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from runners.tracking.measurements import (
    HELD_OUT_LOSS,
    Score,
    arm_values,
    audit_text,
    curve_points,
    differences,
    final_values,
    last_rung,
    not_finite,
    score_of,
    verdict_on,
)
from runners.tracking.mirrored_run import (
    IDENTITY_TAG,
    INCOMPLETE,
    LEVEL_TAG,
    NOTE_TAG,
    SCORE_TAG,
    STATUS,
    STUDY_TAG,
    MirroredRun,
    Point,
    RunStatus,
    arm_status,
    cut,
    interruption,
    parameters_of,
    standing,
    stop_reason,
)
from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.records import ArmRow, Record, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.trial_history import TrialHistory

ALL = "all"  # value of a grouping tag on a run above the group
ORDER_PER_ARM = 1000  # rows between an arm and the next, for its trials
LONGEST_NAME_CHARACTERS = 150
FINAL_PREFIX = "final "
"""Of the level tag of the arms and trials of a search's final comparison."""


def study_name(experiment: str, scale: str) -> str:
    """Return the name of the MLflow experiment."""
    return f"{experiment}-{scale}"


def study_identity(snapshot: Snapshot) -> str:
    """Return the identity of a study: its name, and what its ledger has drawn, if it has."""
    name = study_name(snapshot.experiment, snapshot.scale)
    return f"{name}@{snapshot.drawn_identity}" if snapshot.drawn_identity else name


def projected(snapshot: Snapshot, artifacts: Sequence[Path]) -> tuple[MirroredRun, ...]:
    """Return every run of the study, parents first."""
    projection = _Projection(snapshot, study_identity(snapshot), score_of(snapshot))
    rows, tried = _in_order(snapshot)
    runs = [projection.study(artifacts), *projection.arms(rows)]
    if snapshot.tuning is not None:
        tuning = replace(snapshot, labels=snapshot.tuning.tried.labels, histories=snapshot.tuning.histories)
        runs += replace(projection, snapshot=tuning, prefix="tuning ").arms(tried)
    if (final := snapshot.final) is not None:
        compared = replace(snapshot, labels=final.plan.labels, arms=final.arms, histories=final.histories)
        runs += replace(projection, snapshot=compared, score=score_of(compared), prefix=FINAL_PREFIX).arms(final.arms)
    return tuple(runs)


def _in_order(snapshot: Snapshot) -> tuple[tuple[ArmRow, ...], tuple[ArmRow, ...]]:
    """Return the arms in table order, each before its copy at its own recipe, then the arms of tuning."""
    if snapshot.tuning is None:
        return snapshot.arms, ()
    own = {arm.tuned_from: arm for arm in snapshot.arms if arm.tuned_from is not None}
    shared = [arm for arm in snapshot.arms if arm.tuned_from is None]
    rows = [
        (arm_or_copy, 2 * position + after)
        for position, arm in enumerate(shared)
        for after, arm_or_copy in ((0, arm), (1, own.get(arm.name)))
    ]
    tried = enumerate(
        snapshot.tuning.arms, start=2 * len(shared)
    )  # row numbers are stable when arms at their own recipes are added
    return (
        tuple(replace(row, position=position) for row, position in rows if row is not None),
        tuple(replace(row, position=position) for position, row in tried),
    )


@dataclass(frozen=True)
class _Projection:
    snapshot: Snapshot
    identity: str
    score: Score
    prefix: str = ""
    """Prefix of the level tag: arms of tuning are not rows of the table."""

    def arms(self, rows: Sequence[ArmRow]) -> Iterator[MirroredRun]:
        """Yield every arm, followed by its trials."""
        for arm in rows:
            yield self.arm(arm)
            for number, history in enumerate(self._of_arm(arm.name), start=1):
                yield self.trial(arm, history, number)

    def study(self, artifacts: Sequence[Path]) -> MirroredRun:
        snapshot = self.snapshot
        status = TrialStatus.FINISHED if snapshot.over else TrialStatus.RUNNING
        tags = self._tags("study", (ALL, ALL), status, self.identity)
        name = study_name(snapshot.experiment, snapshot.scale)
        records = [record for history in snapshot.every_history for record in history.records]
        return MirroredRun(
            identity=self.identity,
            parent=None,
            name=name,
            order=0,
            status=self._status(status),
            tags={
                **tags,
                NOTE_TAG: str(snapshot.document.get("question", name)),
                "trials": _status_counts(snapshot.every_history),
                **self._score_tag,
            },
            parameters={},
            points=(),
            compute_milliseconds=_milliseconds([*snapshot.shared, *records]),
            texts={},
            files=tuple(artifacts),
        )

    def arm(self, arm: ArmRow) -> MirroredRun:
        histories = self._of_arm(arm.name)
        status, identity = arm_status(histories), f"{self.identity}/{arm.name}"
        compared = {point.key: point for point in self._compared(arm)} if STATUS[status].ended else {}
        verdict = {"difference": text} if (text := verdict_on(compared)) else {}
        tags = self._tags("arm", (arm.name, ALL), status, identity)
        if status is TrialStatus.STOPPED:
            tags["standing"] = standing(histories)
        changes = "; ".join(f"{path}: {canonical_text(value)}" for path, value in arm.changes.items())
        sizes = (Point("size/parameters", arm.parameters), Point("size/train_flops", arm.train_flops))
        parameters, texts = parameters_of(arm.candidate)
        return MirroredRun(
            identity=identity,
            parent=self.identity,
            name=self._named(arm.name, arm),
            order=1 + arm.position * ORDER_PER_ARM,
            status=self._status(status),
            tags={
                **tags,
                **verdict,
                NOTE_TAG: changes or "the baseline",
                "trials": _status_counts(histories),
                **self._score_tag,
            },
            parameters=parameters,
            points=(*compared.values(), *sizes) if STATUS[status].ended else (),
            compute_milliseconds=_milliseconds([record for history in histories for record in history.records]),
            texts=texts,
        )

    def trial(self, arm: ArmRow, history: TrialHistory, number: int) -> MirroredRun:
        identity = f"{self.identity}/{arm.name}/{history.trial.seed}"
        labels = self.snapshot.labels
        groups = (arm.name, str(history.trial.seed))
        parameters, texts = parameters_of(arm.candidate)
        optional_tags = {
            "stop_reason": stop_reason(history),
            "non_finite": cut("; ".join(not_finite(history, labels))),
            "audit": audit_text(history),
        }
        tags = self._tags("trial", groups, history.status, identity)
        if history.status is TrialStatus.STOPPED:
            tags["standing"] = standing([history])
        values = {**final_values(history, labels, self.score), **last_rung(history)}
        return MirroredRun(
            identity=identity,
            parent=f"{self.identity}/{arm.name}",
            name=self._named(history.trial.name, arm),
            order=1 + arm.position * ORDER_PER_ARM + number,
            status=self._status(history.status),
            tags={**tags, **{name: text for name, text in optional_tags.items() if text}},
            parameters=parameters,
            points=(*values.values(), *curve_points(history, labels)),
            compute_milliseconds=_milliseconds(history.records),
            texts=texts,
        )

    def _compared(self, arm: ArmRow) -> Iterator[Point]:
        """Yield the final values of an ended arm, and the differences to the baseline if that has ended too."""
        values = self._finals(arm.name)
        yield from arm_values(list(values.values()))
        if arm_status(self._of_arm(arm.name)) is TrialStatus.STOPPED:
            yield from arm_values([last_rung(each) for each in self._of_arm(arm.name)])
        if self.prefix not in ("", FINAL_PREFIX) or BASELINE in (arm.name, arm.tuned_from, arm.final_of):
            return
        baseline = self._baseline_of(arm)
        if STATUS[arm_status(self._of_arm(baseline))].ended:
            test = MeanTest(str(self.snapshot.document.get("comparison", MeanTest.WELCH)))
            yield from differences(values, self._finals(baseline), test)

    def _baseline_of(self, arm: ArmRow) -> str:
        """Return the baseline of an arm: at its own recipe, if it differs, or of the final comparison."""
        if arm.final_of is not None:
            return next((each.name for each in self.snapshot.arms if each.final_of == BASELINE), BASELINE)
        own = next((each.name for each in self.snapshot.arms if each.tuned_from == BASELINE), BASELINE)
        return BASELINE if arm.tuned_from is None else own

    def _finals(self, arm: str) -> dict[int, dict[str, Point]]:
        """Return the final values by seed and metric, without a held-out loss that is another than the baseline's."""
        if arm not in self._known_finals:
            hidden = HELD_OUT_LOSS if arm in self._other_loss else None
            finals = {
                each.trial.seed: final_values(each, self.snapshot.labels, self.score) for each in self._of_arm(arm)
            }
            self._known_finals[arm] = {
                seed: {key: value for key, value in own.items() if key != hidden} for seed, own in finals.items()
            }
        return self._known_finals[arm]

    def _named(self, name: str, arm: ArmRow) -> str:
        """Return the name of an arm's or a trial's run; of a search, with what varies."""
        design = self.snapshot.document.get("design")
        designs = design if isinstance(design, list) else [design]
        searched = any(isinstance(each, dict) and each.get("kind") == "search" for each in designs)
        text = f"{name}: {changes_text(arm.changes)}" if searched and arm.name != BASELINE else name
        return text if len(text) <= LONGEST_NAME_CHARACTERS else f"{text[: LONGEST_NAME_CHARACTERS - 1]}…"

    def _of_arm(self, arm: str) -> list[TrialHistory]:
        return self._by_arm.get(arm, [])

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

    @cached_property
    def _known_finals(self) -> dict[str, dict[int, dict[str, Point]]]:
        return {}

    def _status(self, status: TrialStatus) -> RunStatus:
        """Return MLflow's status; what was interrupted has ended until the run is resumed."""
        return RunStatus.KILLED if interruption(status, self.snapshot) else STATUS[status]

    @property
    def _score_tag(self) -> dict[str, str]:
        return {SCORE_TAG: cut(self.score.description)} if self.score.description else {}

    def _tags(self, level: str, groups: tuple[str, str], status: TrialStatus, identity: str) -> dict[str, str]:
        arm, seed = groups
        reason = interruption(status, self.snapshot)
        settings = self.snapshot.manifest.get("settings")
        return {
            IDENTITY_TAG: identity,
            STUDY_TAG: self.identity,
            "experiment": self.snapshot.experiment,
            "scale": self.snapshot.scale,
            LEVEL_TAG: level if level == "study" else f"{self.prefix}{level}",
            "arm": arm,
            "seed": seed,
            "standing": INCOMPLETE if reason else status.value,
            **({"stop_reason": reason} if reason else {}),
            **({"settings": cut("; ".join(map(str, settings)))} if isinstance(settings, list) else {}),
        }


def _status_counts(histories: Sequence[TrialHistory]) -> str:
    counts = Counter(history.status for history in histories)
    return ", ".join(f"{counts[status]} {status.value}" for status in TrialStatus if counts[status]) or "none yet"


def _milliseconds(records: Sequence[Record]) -> int:
    return round(1000 * sum(record.seconds for record in records))
