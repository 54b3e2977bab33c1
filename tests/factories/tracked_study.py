"""A study made by hand, as large as a real one: six arms, three seeds, one stopped arm, one diverged trial."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from search_space.candidate import Candidate
from steeplechase.ledger.records import ArmRow, Decision, Record, Status, TrialRow, TrialStatus, final_loss_of
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import DivergedPretraining, FineTuneResult, PretrainResult
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.keys import key_of

KINDS = ("none", "depthwise", "lightweight", "dynamic", "span_dynamic")
SEEDS = (1, 2, 3)
MARKS = (500_000, 1_000_000)
TASKS = {"docs_pair": ("accuracy",), "docs_answer": ("f1", "exact_match")}
FINE_TUNING_SEEDS = (1, 2)
LABELS = (
    *(f"pretrain@{mark}" for mark in MARKS),
    *(f"{task}#{seed}" for task in TASKS for seed in FINE_TUNING_SEEDS),
)
TOKENS_PER_STEP = 1024
FLOPS_PER_TOKEN = 6 * 13_483_008


def study(arms: int = 6, seeds: tuple[int, ...] = SEEDS, scale: str = "laptop") -> Snapshot:
    """Return a study that is over. With six arms the fifth is stopped at hurdle 1; its first trial has diverged."""
    rows = tuple(arm_row(position) for position in range(arms))
    sequence = count(1)
    histories = tuple(history(arm, seed, sequence) for arm in rows for seed in seeds)
    question = "How should convolution be joined to self-attention?"
    return Snapshot("table2", scale, {"question": question}, LABELS, rows, histories, ())


def still_running(snapshot: Snapshot) -> Snapshot:
    """Return the study as a driver leaves it that is killed: the last two trials open."""
    *ended, one, two = snapshot.histories
    one = replace(one, records=one.records[:1], decisions=(), status=TrialStatus.RUNNING)
    two = replace(two, records=(), decisions=(), status=TrialStatus.WAITING)
    return replace(snapshot, histories=(*ended, one, two))


def arm_row(position: int) -> ArmRow:
    """Return the baseline, an arm per convolution, and one arm with a wider kernel."""
    kind = KINDS[position] if position < len(KINDS) else "span_dynamic"
    convolution: dict[str, Any] = {"kind": kind}
    name = "baseline" if position == 0 else kind.replace("_", "-")
    if position >= len(KINDS):
        convolution["kernel_size"] = 9 + 2 * (position - 3)
        name = f"{name}-k{convolution['kernel_size']}"
    candidate: dict[str, Any] = {
        "architecture": {"convolution": convolution},
        "objective": {"kind": "replaced_token_detection"},
    }
    changes = {"architecture.convolution": convolution} if position else {}
    parameters = 13_483_008 + 90_000 * position
    return ArmRow(
        name,
        Candidate.model_validate(candidate),
        changes,
        position=position,
        cohort=0,
        parameters=parameters,
        forward_flops=3 * 10**9,
        train_flops=FLOPS_PER_TOKEN * MARKS[-1],
    )


def history(arm: ArmRow, seed: int, sequence: Iterator[int]) -> TrialHistory:
    """Return one trial: whole, or stopped at hurdle 1, or diverged."""
    trial = TrialRow(f"{arm.name}/{seed}", arm.name, seed)
    if arm.position == 4:
        return ended_early(trial, arm, sequence)
    floor = 5.2 - 0.12 * arm.position + 0.02 * seed
    records = [pretrained(trial.name, part, floor, sequence) for part in range(len(MARKS))]
    records += [
        Record(
            next(sequence),
            trial.name,
            "fine_tune",
            f"{task}#{tuning}",
            key_of(f"{trial.name}-{task}-{tuning}"),
            Status.FINISHED,
            FineTuneResult(
                task=task,
                seed=tuning,
                scores={
                    metric: round(0.6 + 0.02 * arm.position + 0.01 * seed + 0.003 * tuning, 4) for metric in metrics
                },
                examples=1000,
            ),
            12.5,
            reused=False,
        )
        for task, metrics in TASKS.items()
        for tuning in FINE_TUNING_SEEDS
    ]
    decision = Decision(next(sequence), trial.name, 0, True, floor + 0.5, 5.9)
    return TrialHistory(trial, tuple(records), (decision,), TrialStatus.FINISHED)


def ended_early(trial: TrialRow, arm: ArmRow, sequence: Iterator[int]) -> TrialHistory:
    """Return a trial that diverged (seed 1) or was stopped at hurdle 1."""
    first = pretrained(trial.name, 0, 5.3, sequence)
    if trial.seed == 1:
        assert isinstance(first.result, PretrainResult)
        curves = {"held_out_curve": first.result.held_out_curve, "train_curve": first.result.train_curve}
        result = DivergedPretraining(tokens=312_320, loss="nan", **curves)
        diverged = replace(first, status=Status.DIVERGED, result=result)
        return TrialHistory(trial, (diverged,), (), TrialStatus.DIVERGED)
    loss = final_loss_of(first)
    assert loss is not None
    decision = Decision(next(sequence), trial.name, 0, False, loss, 5.2, 1)
    return TrialHistory(trial, (first,), (decision,), TrialStatus.STOPPED)


def pretrained(name: str, part: int, floor: float, sequence: Iterator[int]) -> Record:
    """Return the record of one part of pretraining, with a loss at every step and four held-out losses."""
    start, end = (0, *MARKS)[part], MARKS[part]
    steps = range(start + TOKENS_PER_STEP, end + 1, TOKENS_PER_STEP)
    held_out = tuple((tokens, _loss(tokens, floor)) for tokens in range(start + 125_000, end + 1, 125_000))
    result = PretrainResult(
        tokens=end,
        held_out_loss=held_out[-1][1],
        held_out_curve=held_out,
        train_curve=tuple((tokens, _loss(tokens, floor) + 0.05 * math.sin(tokens / 9000)) for tokens in steps),
    )
    label = f"pretrain@{end}"
    return Record(
        next(sequence), name, "pretrain", label, key_of(f"{name}-{part}"), Status.FINISHED, result, 81.0, False
    )


def _loss(tokens: int, floor: float) -> float:
    return floor + 5 * math.exp(-tokens / 200_000)
