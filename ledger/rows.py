"""Serialises rows of a ledger to plain JSON values and back, for the database and the CSV export."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import ValidationError

from configuration.measurements import PERPLEXITY, RARE_WORDS
from configuration.stage_label import (
    FINE_TUNE,
    LATENCY,
    LINEAR_PROBE,
    LONG_SEQUENCE_PHASE,
    MINIMAL_PAIRS,
    PRETRAIN,
    PROBE,
    UNPRUNED,
    UNTRAINED,
    WORD_EMBEDDINGS,
    ZERO_COST,
)
from foundation.names import checked_sha256
from foundation.schema import JsonValue, canonical
from foundation.stand_ins import OF_RECORD
from ledger.records import ArmRow, Decision, Record, Status, TrialRow
from ledger.stage_results import (
    AttentionResult,
    ContaminationResult,
    CorpusResult,
    DivergedFineTuning,
    DivergedPretraining,
    EvaluationSetResult,
    ExamplesResult,
    FailedStage,
    FineTuneResult,
    LatencyResult,
    LinearProbeResult,
    MinimalPairsResult,
    PerplexityResult,
    PretrainResult,
    RareWordsResult,
    StageResult,
    TokensResult,
    UntrainedResult,
    WordEmbeddingsResult,
    ZeroCostResult,
)
from search_space.candidate import Candidate

Row = ArmRow | TrialRow | Record | Decision
R = TypeVar("R", ArmRow, TrialRow, Record, Decision)

FINISHED: Mapping[str, type[StageResult]] = {
    "corpus": CorpusResult,
    "tokens": TokensResult,
    "examples": ExamplesResult,
    "contamination": ContaminationResult,
    "evaluation_set": EvaluationSetResult,
    "attention": AttentionResult,
    RARE_WORDS: RareWordsResult,
    WORD_EMBEDDINGS: WordEmbeddingsResult,
    PERPLEXITY: PerplexityResult,
    LATENCY: LatencyResult,
    PRETRAIN: PretrainResult,
    LONG_SEQUENCE_PHASE: PretrainResult,
    UNPRUNED: PretrainResult,
    FINE_TUNE: FineTuneResult,
    LINEAR_PROBE: LinearProbeResult,
    MINIMAL_PAIRS: MinimalPairsResult,
    UNTRAINED: UntrainedResult,
    ZERO_COST: ZeroCostResult,
    PROBE: FineTuneResult,
}
"""Result type of a finished stage, by kind."""
DIVERGED: Mapping[str, type[StageResult]] = {
    PRETRAIN: DivergedPretraining,
    LONG_SEQUENCE_PHASE: DivergedPretraining,
    UNPRUNED: DivergedPretraining,
    FINE_TUNE: DivergedFineTuning,
    LINEAR_PROBE: DivergedFineTuning,
    MINIMAL_PAIRS: DivergedFineTuning,
    PROBE: DivergedFineTuning,
    PERPLEXITY: DivergedFineTuning,
}
IN_JSON = ("candidate", "result")
"""Fields that `parsed` expects as JSON text."""
_ARM_FIRST = ("name", "position", "cohort", "candidate", "changes", "parameters", "forward_flops", "train_flops")


def read_result(stage: str, status: Status, document: str | bytes) -> StageResult:
    """Return the result of a stage from its JSON. Raises ValueError, in one line, if it is invalid for that stage."""
    types = {Status.FINISHED: FINISHED, Status.DIVERGED: DIVERGED}.get(status)
    kind = FailedStage if types is None else types.get(stage)
    if kind is None:
        unknown = (
            "is not a kind of stage"
            if status is Status.FINISHED
            else f"is not a kind of stage that is {status.value}"
        )
        raise ValueError(f"{stage!r} {unknown}; another version may have written it")
    try:
        return kind.model_validate_json(document)
    except ValidationError as error:
        raise ValueError(f"the result of a {status.value} {stage} stage: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """Return the first error as one line: location and message."""
    fault, more = error.errors(include_url=False)[0], error.error_count() - 1
    location = ".".join(map(str, fault["loc"]))
    return f"{location}: {fault['msg']}" + (f" (and {more} more)" if more else "")


def columns(kind: type[Row]) -> tuple[str, ...]:
    """Return the names of a row's fields in the order of an export."""
    names = tuple(field.name for field in fields(kind))
    if kind is not ArmRow:
        return names
    return (*_ARM_FIRST, *(name for name in names if name not in _ARM_FIRST))


def plain(row: Row) -> dict[str, JsonValue]:
    """Return a row's values by column."""
    return {name: _plain(getattr(row, name)) for name in columns(type(row))}


def _plain(value: Any) -> Any:
    if isinstance(value, Candidate):
        return canonical(value)
    if isinstance(value, StageResult):
        return value.as_json
    if isinstance(value, Mapping):
        return dict(value)
    return [*value] if isinstance(value, tuple) else value


def parsed(kind: type[R], content: Mapping[str, Any]) -> R:
    """Return a row from its values; fields in `IN_JSON` are JSON text.

    Raises ValueError or TypeError, in one line, if they are not a row of this kind.
    """
    values = dict(content)
    if kind is ArmRow:
        try:
            values["candidate"] = Candidate.model_validate_json(values["candidate"], context=OF_RECORD)
        except ValidationError as error:
            raise ValueError(f"candidate: {first_fault(error)}") from error
    if kind is Record:
        checked_sha256(values["key"])
        values["status"] = Status(values["status"])
        values["result"] = read_result(str(values["stage"]), values["status"], values["result"])
    if kind is Decision:
        values["cohort"] = tuple(values["cohort"])
    return kind(**values)
