"""Pretraining has the same weights in one stage, in two, or resumed; longer sequences are a stage of theirs."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from runners.computing import pretrain
from runners.scheduling.trial import Trial, TrialPlan
from runners.stages.context import ProgressFile, StageContext
from runners.stages.corpus import CorpusStage
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import Stage
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel, WordStructure
from search_space.overrides import apply
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import read_example_values
from steeplechase.ledger.metrics import final_loss
from steeplechase.ledger.paths import HELD_OUT_LOSSES
from steeplechase.ledger.records import Record, Status, TrialRow
from steeplechase.ledger.stage_results import ExampleValues, PretrainResult
from steeplechase.ledger.trial_history import history_of
from steeplechase.tasks.contracts.small_candidates import text
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.evaluation_set import EvaluationSet
from tests.factories.keys import KEY
from tests.factories.small_experiments import OBJECTIVES, SPAN_DYNAMIC, WORDS, candidate
from tests.factories.stage_results import PLAUSIBLE, result_of

LEARNER = candidate(SPAN_DYNAMIC, OBJECTIVES[1], 0.1)


class Killed(Exception):
    """Raised where a real run would be killed."""


class KillingProgress(ProgressFile):
    """Progress that raises Killed from a given share on."""

    def __init__(self, path: Path, at: float) -> None:
        super().__init__(path)
        self.at = at

    def __call__(
        self, what: str, share: float, loss: float | None = None, speed: float | None = None, peak: int | None = None
    ) -> None:
        if share >= self.at:
            raise Killed
        super().__call__(what, share, loss, speed, peak)


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    folders = {name: tmp_path / name for name in ("tokens", "evaluation_set")}
    for folder in folders.values():
        folder.mkdir()
    WORDS.save(folders["tokens"])
    np.save(folders["tokens"] / "train.npy", text())
    np.save(folders["tokens"] / "train.sentences.npy", np.flatnonzero(np.arange(2000) % 50 % 5 == 0)[:-1])
    shown = text(160).astype(np.int64).reshape(10, 16)
    everywhere = np.broadcast_to(np.arange(16), shown.shape).copy()
    EvaluationSet(shown, everywhere, shown % 2).save(folders["evaluation_set"])
    return folders


def stage(first: int, last: int, learner: Candidate = LEARNER) -> PretrainStage:
    size = learner.recipe.tokens_per_step
    return PretrainStage(
        candidate=learner,
        generator=learner.objective.generator_of(learner.architecture, learner.architecture),
        seed=1,
        from_step=first,
        to_step=last,
        evaluation_steps=tuple(step for step in (3, 5, 8, 12) if first < step <= last),
        horizon_tokens=learner.recipe.schedule.horizon(12 * size, last * size),
    )


def computed(
    declared: PretrainStage, inputs: dict[str, Path], folder: Path, killed_at: float = 2.0
) -> dict[str, JsonValue]:
    folder.mkdir(exist_ok=True)
    progress = KillingProgress(folder.parent / "progress.json", killed_at)
    return pretrain.compute(declared, StageContext(inputs, folder, progress))


def points(result: dict[str, JsonValue], curve: str) -> list[JsonValue]:
    found = result[curve]
    assert isinstance(found, list)
    return found


def weights(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("checkpoint/*.safetensors")))


def test_two_processes_have_the_losses_of_one(inputs: dict[str, Path], tmp_path: Path) -> None:
    one = candidate(SPAN_DYNAMIC, MaskedLanguageModel(), 0.0)
    two = one.model_copy(update={"recipe": one.recipe.model_copy(update={"processes": 2})})
    assert stage(0, 12, two).processes == 2
    alone = computed(stage(0, 12, one), inputs, tmp_path / "alone")
    together = computed(stage(0, 12, two), inputs, tmp_path / "together")
    for curve in ("train_curve", "held_out_curve"):
        assert np.asarray(points(together, curve)) == pytest.approx(np.asarray(points(alone, curve)), abs=1e-6)


def test_two_rungs_that_one_update_reaches_have_equal_losses_and_weights(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    first = computed(stage(0, 5), inputs, tmp_path / "first")
    no_update = stage(5, 5).model_copy(update={"evaluation_steps": (5,)})
    second = computed(no_update, {**inputs, "previous": tmp_path / "first"}, tmp_path / "second")
    assert (second["tokens"], second["held_out_loss"]) == (first["tokens"], first["held_out_loss"])
    assert weights(tmp_path / "second") == weights(tmp_path / "first")


def test_a_warm_up_has_parts_as_large_as_those_of_one_process_of_a_group(
    inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, parts = candidate(SPAN_DYNAMIC, MaskedLanguageModel(), 0.0), list[int]()
    four = one.model_copy(update={"recipe": one.recipe.model_copy(update={"processes": 2, "micro_batches": 2})})
    monkeypatch.setattr(pretrain, "train", lambda _, data, *more: parts.append(data.candidate.recipe.micro_batches))
    pretrain.train_discarded_model(stage(0, 12, four), inputs["tokens"])
    assert parts == [4]


def test_a_full_gpu_is_met_by_twice_the_micro_batches_once_and_told(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The losses are those of the declared batch to rounding; a second failure is the stage's."""
    declared = stage(0, 12, candidate(SPAN_DYNAMIC, MaskedLanguageModel(), 0.0))
    expected = computed(declared, inputs, tmp_path / "fits")
    trained = pretrain.train

    def full(*asked: Any) -> None:
        if asked[1].candidate.recipe.micro_batches < most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        trained(*asked)

    monkeypatch.setattr(pretrain, "train", full)
    most = 2
    found = computed(declared, inputs, tmp_path / "full")
    told = PretrainResult.model_validate_json(json.dumps(found)).outcome
    assert told.endswith("out of memory, so with 2 micro-batches")
    curves = (np.asarray(points(result, "train_curve")) for result in (found, expected))
    np.testing.assert_allclose(*curves, atol=1e-5)
    most = 4
    with pytest.raises(torch.OutOfMemoryError):
        computed(declared, inputs, tmp_path / "fuller")


def scheduled(kind: str) -> Candidate:
    return apply(LEARNER, {"recipe.schedule": kind, "recipe.schedule.warmup_tokens": 64})


@pytest.mark.parametrize("kind", ["linear", "warmup_stable_decay"])
def test_two_consecutive_stages_equal_one(kind: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    learner = scheduled(kind)
    uninterrupted = computed(stage(0, 12, learner), inputs, tmp_path / "uninterrupted")
    before = computed(stage(0, 5, learner), inputs, tmp_path / "before")
    after = computed(stage(5, 12, learner), {**inputs, "previous": tmp_path / "before"}, tmp_path / "after")
    assert weights(tmp_path / "after") == weights(tmp_path / "uninterrupted")
    assert after["held_out_loss"] == uninterrupted["held_out_loss"]
    assert after["held_out_losses"] == uninterrupted["held_out_losses"] != before["held_out_losses"]
    for curve in ("train_curve", "held_out_curve"):
        assert points(before, curve) + points(after, curve) == points(uninterrupted, curve)


def test_the_named_terms_of_a_loss_sum_to_its_curve_in_a_resumed_stage_too(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = WordStructure(shuffle_rate=0.3)
    declared = stage(0, 12, candidate(SPAN_DYNAMIC, objective))
    monkeypatch.setattr(pretrain, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with pytest.raises(Killed):
        computed(declared, inputs, tmp_path / "killed", 0.5)
    result = PretrainResult.model_validate_json(json.dumps(computed(declared, inputs, tmp_path / "killed")))
    assert tuple(result.term_curves) == objective.terms
    summed = [sum(loss for _, loss in points) for points in zip(*result.term_curves.values(), strict=True)]
    assert summed == pytest.approx([loss for _, loss in result.train_curve], rel=1e-6)
    assert len(summed) == 12
    assert "term_curves" not in computed(stage(0, 3), inputs, tmp_path / "unnamed")


def test_a_resumed_stage_equals_an_uninterrupted_one(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninterrupted = computed(stage(0, 12), inputs, tmp_path / "uninterrupted")
    monkeypatch.setattr(pretrain, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    for killed_at in (0.2, 0.5, 0.7):
        with pytest.raises(Killed):
            computed(stage(0, 12), inputs, tmp_path / "killed", killed_at)
    resumed = computed(stage(0, 12), inputs, tmp_path / "killed")
    assert 0 < resumed.pop("earlier_seconds") < 60  # type: ignore[operator]
    assert resumed == uninterrupted
    assert weights(tmp_path / "killed") == weights(tmp_path / "uninterrupted")
    assert {path.name for path in (tmp_path / "killed").iterdir()} == {"checkpoint", HELD_OUT_LOSSES}
    assert (tmp_path / "killed" / HELD_OUT_LOSSES).read_bytes() == (
        tmp_path / "uninterrupted" / HELD_OUT_LOSSES
    ).read_bytes()


def test_the_mean_of_the_held_out_losses_is_the_recorded_loss(inputs: dict[str, Path], tmp_path: Path) -> None:
    result = computed(stage(0, 12), inputs, tmp_path / "uninterrupted")
    kept = ExampleValues.model_validate_json(canonical_text(result["held_out_losses"]))
    (losses,) = read_example_values(tmp_path / "uninterrupted" / HELD_OUT_LOSSES, kept)
    assert losses.shape == (160,)
    assert losses.std() > 0
    assert float(losses.mean(dtype=np.float64)) == result["held_out_loss"]


def test_the_checkpoint_of_another_stage_is_an_error(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretrain, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with pytest.raises(Killed):
        computed(stage(0, 12), inputs, tmp_path / "killed", 0.5)
    (tmp_path / "killed").rename(tmp_path / "other")
    with pytest.raises(CorruptionError, match="other/resume: belongs to another stage, killed"):
        computed(stage(0, 12), inputs, tmp_path / "other")
    assert (tmp_path / "other" / "resume").is_dir()


ANY_STAGE = Stage(CorpusStage(corpus=DocumentationCorpus(), read={}))


LABELS = ("pretrain@10", "short#1", "short#2", "long_sequence_phase", "long#1", "long#2")


def trial(statuses: Iterable[tuple[str, Status]]) -> Trial:
    """Return a trial with a long-sequence phase, some of whose stages have ended."""
    stages = dict.fromkeys(LABELS, ANY_STAGE)
    row = TrialRow("arm/1", "arm", 1, None)
    found = Trial(TrialPlan(row, 0, stages, ("pretrain@10",), gates=("long_sequence_phase",)))
    for label, status in statuses:
        kind = StageLabel.parse(label).kind
        lost = {"step": 9} if kind == "fine_tune" else {"tokens": 9, "loss": "nan"}
        found_end = {**PLAUSIBLE[kind], **({"held_out_loss": 1.0} if kind == "pretrain" else {})}
        result = result_of(kind, {FAILED: {"error": "no"}, DIVERGED: lost}.get(status, found_end), status)
        found = found.with_record(Record(0, "arm/1", kind, label, KEY, status, result, 0.0, False))
    return found


DONE, DIVERGED, FAILED = Status.FINISHED, Status.DIVERGED, Status.FAILED


@pytest.mark.parametrize(
    ("statuses", "ready", "ended"),
    [
        ({}, ["pretrain@10"], False),
        ({"pretrain@10": DONE}, ["short#1", "short#2", "long_sequence_phase"], False),
        ({"pretrain@10": DONE, "long_sequence_phase": DONE}, ["short#1", "short#2", "long#1", "long#2"], False),
        ({"pretrain@10": DONE, "long_sequence_phase": DIVERGED}, ["short#1", "short#2"], False),
        (dict.fromkeys(LABELS[:3], DONE) | {"long_sequence_phase": FAILED}, [], True),
        (dict.fromkeys(LABELS[:4], DONE), ["long#1", "long#2"], False),
        (dict.fromkeys(LABELS, DONE), [], True),
        ({"pretrain@10": DIVERGED}, [], True),
    ],
)
def test_stages_after_the_phase_wait_for_it_and_no_others(
    statuses: dict[str, Status], ready: list[str], ended: bool
) -> None:
    found = trial(statuses.items())
    assert [*found.ready] == ready
    assert found.ended is ended


def test_the_held_out_loss_of_a_trial_is_that_before_the_phase() -> None:
    label = "long_sequence_phase"
    longer = Record(2, "arm/1", label, label, KEY, DONE, PretrainResult(tokens=20, held_out_loss=0.5), 0.0, False)
    before = Record(
        1, "arm/1", "pretrain", "pretrain@10", KEY, DONE, PretrainResult(tokens=10, held_out_loss=1.0), 0.0, False
    )
    history = history_of(TrialRow("arm/1", "arm", 1, None), [before, longer], [], LABELS)
    assert final_loss(history, LABELS) == 1.0
