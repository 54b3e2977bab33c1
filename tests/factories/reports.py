"""Snapshots built by hand, so that a report's every number has a known origin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from search_space.candidate import Candidate
from steeplechase.ledger.phase_plans import Choice, TuningPlan
from steeplechase.ledger.records import ArmRow, Decision, Record, Status, TrialRow, TrialStatus
from steeplechase.ledger.snapshot import Snapshot, Tuning
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.keys import KEY
from tests.factories.stage_results import PLAUSIBLE, result_of

TOKENS = 2_000_000
BOTTLENECK = {"bottleneck_ratio": 2}
ARMS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "bottleneck": BOTTLENECK,
    "depthwise": {**BOTTLENECK, "convolution": {"kind": "depthwise"}},
    "dynamic": {**BOTTLENECK, "convolution": {"kind": "dynamic"}},
    "span_dynamic": {**BOTTLENECK, "convolution": {"kind": "span_dynamic"}},
}
PRIMARY = {"docs_pair": "accuracy", "docs_acceptability": "matthews", "docs_answer": "f1"}


def primary(task: str) -> str:
    return PRIMARY.get(task, "accuracy")


def document(tasks: Iterable[str] = (), seeds: Iterable[int] = (1, 2, 3), **more: Any) -> dict[str, Any]:
    return {
        "experiment": "table2",
        "question": "How should convolution be joined to attention?",
        "baseline": {"architecture": {"depth": 4, "convolution": {"kind": "none"}}},
        "design": {"kind": "list", "arms": {"bottleneck": BOTTLENECK}},
        "corpus": {"kind": "documentation"},
        "pretraining": {"tokens": TOKENS, "seeds": list(seeds), "hurdle": {"kind": "finite"}},
        "fine_tuning": {"tasks": list(tasks), "seeds": [1, 2]},
        **more,
    }


def search_design(**more: Any) -> dict[str, Any]:
    return {"kind": "search", "space": {"bottleneck_ratio": [1, 2, 4]}, **more}


def arm(name: str, position: int, changes: Mapping[str, Any]) -> ArmRow:
    return ArmRow(
        name,
        Candidate(),
        changes,
        position=position,
        cohort=0,
        parameters=13_483_008 - position * 300_000,
        forward_flops=10**9,
        train_flops=127 * 10**16,
    )


@dataclass
class Trial:
    """One trial being written down, stage by stage."""

    arm: str
    seed: int
    status: TrialStatus = TrialStatus.FINISHED
    records: list[Record] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.arm}/{self.seed}"

    def record(self, stage: str, label: str, result: Mapping[str, Any], status: Status = Status.FINISHED) -> "Trial":
        found = result_of(stage, result, status)
        self.records.append(Record(len(self.records), self.name, stage, label, KEY, status, found, 1.0, False))
        return self

    def pretrained(self, loss: float, tokens: int = TOKENS) -> "Trial":
        curve = [[tokens * step // 4, loss + (4 - step) * 0.4] for step in range(1, 5)]
        result = {"tokens": tokens, "held_out_loss": loss, "held_out_curve": curve, "train_curve": []}
        return self.record("pretrain", f"pretrain@{tokens}", result)

    def tuned(self, task: str, seed: int, **scores: float) -> "Trial":
        result = {"task": task, "seed": seed, "scores": scores, "examples": 1000}
        return self.record("fine_tune", f"{task}#{seed}", result)

    def diverged(self, tokens: int = TOKENS) -> "Trial":
        self.status = TrialStatus.DIVERGED
        result = {"tokens": tokens // 2, "loss": "nan", "held_out_curve": [[tokens // 4, 9.9]], "train_curve": []}
        return self.record("pretrain", f"pretrain@{tokens}", result, Status.DIVERGED)

    def failed(self, error: str = "worker died") -> "Trial":
        self.status = TrialStatus.FAILED
        return self.record("pretrain", f"pretrain@{TOKENS}", {"error": error}, Status.FAILED)

    def judged(self, level: int, cleared: bool, value: float, threshold: float | None) -> "Trial":
        self.decisions.append(Decision(level, self.name, level, cleared, value, threshold))
        if not cleared:
            self.status = TrialStatus.STOPPED
        return self

    def history(self) -> TrialHistory:
        row = TrialRow(self.name, self.arm, self.seed)
        return TrialHistory(row, tuple(self.records), tuple(self.decisions), self.status)


def shared(stage: str, label: str, result: Mapping[str, Any]) -> Record:
    return Record(0, None, stage, label, KEY, Status.FINISHED, result_of(stage, result), 1.0, False)


def corpus_record() -> Record:
    return shared("corpus", "corpus", PLAUSIBLE["corpus"])


def examples_record(task: str) -> Record:
    parts = {"train": {"examples": 4000}, "dev": {"examples": 1000}}
    words = {primary(task): 51.25, "other": 12.5}
    return shared("examples", f"examples {task}", {"task": task, "chance": 50.0, "bag_of_words": words, **parts})


def snapshot(
    trials: Iterable[Trial],
    arms: Mapping[str, Mapping[str, Any]] | None = None,
    tasks: tuple[str, ...] = (),
    tuning_seeds: tuple[int, ...] = (1, 2),
    resolved: Mapping[str, Any] | None = None,
    rungs: tuple[int, ...] = (TOKENS,),
    experiment: str = "table2",
) -> Snapshot:
    named = ARMS if arms is None else arms
    labels = [f"pretrain@{tokens}" for tokens in rungs]
    labels += [f"{task}#{seed}" for task in sorted(tasks) for seed in tuning_seeds]
    return Snapshot(
        experiment=experiment,
        scale="laptop",
        document=document(tasks) if resolved is None else resolved,
        labels=tuple(labels),
        arms=tuple(arm(name, position, changes) for position, (name, changes) in enumerate(named.items())),
        histories=tuple(trial.history() for trial in trials),
        shared=(corpus_record(), *(examples_record(task) for task in tasks)),
    )


def trials_of(losses: Mapping[str, Iterable[float]]) -> list[Trial]:
    """Return the trials of arms with these final losses, one per seed."""
    return [Trial(arm, seed).pretrained(loss) for arm, ends in losses.items() for seed, loss in enumerate(ends, 1)]


PAPER = {
    "source": "Jiang et al. 2020, arXiv 2008.02496, section 4.3",
    "statement": "Span-based dynamic convolution is best; dynamic convolution is about tied with none.",
    "orderings": ["span_dynamic > dynamic ~ bottleneck > depthwise"],
    "margins": {"score": 5.0},
}
LOSSES = {"baseline": 6.10, "bottleneck": 6.12, "depthwise": 6.31, "dynamic": 6.08, "span_dynamic": 5.93}
WOBBLE = {1: 0.013, 2: -0.021, 3: 0.017}
JITTER = {"baseline": 0, "bottleneck": 2, "depthwise": -4, "dynamic": 11, "span_dynamic": -5}


def full_trial(name: str, seed: int, tasks: tuple[str, ...]) -> Trial:
    loss = LOSSES[name] + WOBBLE[seed] + JITTER[name] * (seed - 1) ** 2 / 1000
    trial = Trial(name, seed).pretrained(loss)
    for task in tasks:
        for tuning in (1, 2):
            value = 60 + 25 * (6.4 - loss) + tuning + len(task) % 5
            trial.tuned(task, tuning, **{primary(task): value, "other": value / 2})
    return trial


def table2(tasks: tuple[str, ...] = ("docs_pair", "docs_acceptability")) -> Snapshot:
    trials = [full_trial(name, seed, tasks) for name in ARMS for seed in (1, 2, 3)]
    return snapshot(trials, tasks=tasks, resolved=document(tasks, paper=PAPER))


def troubled() -> Snapshot:
    """A running table: one diverged, one failed, one unfinished, one arm not started."""
    tasks = ("docs_pair",)
    trials = [full_trial(name, seed, tasks) for name in ("baseline", "bottleneck") for seed in (1, 2, 3)]
    trials += [full_trial("depthwise", 1, tasks), full_trial("depthwise", 2, tasks), Trial("depthwise", 3).diverged()]
    trials += [Trial("dynamic", seed).failed() for seed in (1, 2, 3)]
    trials += [full_trial("span_dynamic", 1, tasks), Trial("span_dynamic", 2, TrialStatus.RUNNING).pretrained(5.9)]
    return snapshot(trials, tasks=tasks, resolved=document(tasks, paper=PAPER))


def search() -> Snapshot:
    """A search with one seed: three candidates of which one is stopped, one diverges, one comes through."""
    rungs = (500_000, 1_000_000, TOKENS)
    arms = {
        "baseline": {},
        "c001": {"convolution": {"kind": "span_dynamic", "kernel_size": 5}},
        "c002": {"bottleneck_ratio": 4},
        "c003": {"feed_forward_groups": 2},
    }
    trials = [
        Trial("baseline", 1).pretrained(7.0, rungs[0]).judged(0, False, 7.0, None),
        Trial("c001", 1)
        .pretrained(6.8, rungs[0])
        .judged(0, True, 6.8, 7.0)
        .pretrained(6.4, rungs[1])
        .pretrained(6.0),
        Trial("c002", 1).pretrained(7.2, rungs[0]).judged(0, False, 7.2, 7.0),
        Trial("c003", 1).diverged(rungs[0]),
    ]
    hurdle = {"kind": "progressive_mean", "rungs": list(rungs[:2])}
    resolved = document(
        seeds=(1,),
        design=search_design(),
        pretraining={"tokens": TOKENS, "seeds": [1], "hurdle": hurdle},
        question="Which candidate is best?",
    )
    return snapshot(trials, arms=arms, resolved=resolved, rungs=rungs, experiment="search")


def empty() -> Snapshot:
    whole = snapshot((), arms={})
    return Snapshot(whole.experiment, whole.scale, whole.document, whole.labels, (), (), ())


TUNED_RATES = {"shared": 5e-4, "peak_learning_rate=0.001": 1e-3, "peak_learning_rate=0.0001": 1e-4}
TUNED_ARMS = {"baseline": {}, "narrow": BOTTLENECK, "dynamic": {**BOTTLENECK, "convolution": {"kind": "dynamic"}}}
TUNED_VALUES = {"baseline": (6.20, 6.02, 6.61), "narrow": (6.01, 6.15, 6.42), "dynamic": (6.19, 6.03, None)}
TUNED_LOSSES = {"baseline": 6.1, "narrow": 5.95, "dynamic": 6.13, "baseline@own": 5.93, "dynamic@own": 5.94}
TUNED_WOBBLE = {"baseline": 0, "narrow": 3, "dynamic": -6, "baseline@own": 2, "dynamic@own": 7}


def tuned() -> Snapshot:
    """A tuned table: the baseline and one arm leave the shared rate, which suits the third; one seed diverged."""
    rate = "recipe.peak_learning_rate"
    own = {f"{name}@own": {**TUNED_ARMS[name], rate: 1e-3} for name in ("baseline", "dynamic")}
    trials = [
        Trial(name, seed).pretrained(loss + WOBBLE[seed] + TUNED_WOBBLE[name] * (seed - 1) ** 2 / 1000)
        for name, loss in TUNED_LOSSES.items()
        for seed in (1, 2, 3)
    ]
    found = snapshot(trials, {**TUNED_ARMS, **own}, experiment="tuned")
    rows = tuple(
        replace(
            row, tuned_from=row.name.removesuffix("@own") if row.name in own else None, cohort=int(row.name in own)
        )
        for row in found.arms
    )
    return replace(found, arms=rows, tuning=_tuning())


def _tuning() -> Tuning:
    tokens, names = TOKENS // 10, tuple(TUNED_RATES)
    candidates = [(arm_name, point) for arm_name in TUNED_ARMS for point in range(len(names))]
    rows = tuple(
        replace(arm(f"{name}@{names[point]}", place, TUNED_ARMS[name]), tuning_trial_of=name)
        for place, (name, point) in enumerate(candidates)
    )
    trials = []
    for row, (name, point) in zip(rows, candidates, strict=True):
        value = TUNED_VALUES[name][point]
        for seed in (101, 102):
            trial = Trial(row.name, seed)
            lost = value is None and seed == 102
            trials.append(trial.diverged(tokens) if lost else trial.pretrained(value or 6.7, tokens))
    tried = TuningPlan(
        points=({}, *({"recipe.peak_learning_rate": rate} for rate in [*TUNED_RATES.values()][1:])),
        names=names,
        shared={"recipe.peak_learning_rate": 5e-4},
        seeds=(101, 102),
        tokens=tokens,
        metric="held_out_loss",
        labels=(f"pretrain@{tokens}",),
    )
    chosen = {"baseline": 1, "narrow": 0, "dynamic": 1}
    choices = tuple(
        Choice(arm=name, point=point, values=TUNED_VALUES[name], own=f"{name}@own" if point else name)
        for name, point in chosen.items()
    )
    return Tuning(tried, rows, tuple(trial.history() for trial in trials), choices)
