"""What stages achieve: one frozen class per kind of stage and end, read and written as the JSON of a ledger.

A whole number stays whole and a real one real, and a field that was never written stays so: what is read is written
back as the same bytes. Losses and scores may be NaN or infinite in memory; `finite` is how a reader asks for them.
"""

from steeplechase.foundation.schema import Whole
from steeplechase.ledger.stage_results.measurements import (
    AttentionResult,
    LatencyResult,
    Machine,
    PerplexityResult,
    RareWordsResult,
    WordEmbeddingsResult,
)
from steeplechase.ledger.stage_results.result import Curve, Real, Result, finite, finite_points
from steeplechase.ledger.stage_results.shared import (
    ContaminationResult,
    CorpusResult,
    EncodedPart,
    EvaluationSetResult,
    ExamplesResult,
    SplitCounts,
    SquadPart,
    TokenCounts,
    TokensResult,
)
from steeplechase.ledger.stage_results.training import (
    CONSTANT,
    SCORES,
    DivergedFineTuning,
    DivergedPretraining,
    ExampleValues,
    FineTuneResult,
    LinearProbeResult,
    MinimalPairsResult,
    Pretraining,
    PretrainResult,
    SearchChoice,
    UntrainedResult,
    ZeroCostResult,
)


class FailedStage(Result):
    """The stage raised or its worker died: there is no result."""

    error: str
    trace: str = ""
    attempts: Whole = 1


StageResult = (
    CorpusResult
    | TokensResult
    | ExamplesResult
    | ContaminationResult
    | EvaluationSetResult
    | PretrainResult
    | DivergedPretraining
    | FineTuneResult
    | LinearProbeResult
    | MinimalPairsResult
    | UntrainedResult
    | ZeroCostResult
    | DivergedFineTuning
    | AttentionResult
    | PerplexityResult
    | RareWordsResult
    | WordEmbeddingsResult
    | LatencyResult
    | FailedStage
)
"""How a stage ended; its kind and its status say which of these it is."""

__all__ = [
    "CONSTANT",
    "SCORES",
    "AttentionResult",
    "ContaminationResult",
    "CorpusResult",
    "Curve",
    "DivergedFineTuning",
    "DivergedPretraining",
    "EncodedPart",
    "EvaluationSetResult",
    "ExampleValues",
    "ExamplesResult",
    "FailedStage",
    "FineTuneResult",
    "LatencyResult",
    "LinearProbeResult",
    "Machine",
    "MinimalPairsResult",
    "PerplexityResult",
    "PretrainResult",
    "Pretraining",
    "RareWordsResult",
    "Real",
    "SearchChoice",
    "SplitCounts",
    "SquadPart",
    "StageResult",
    "TokenCounts",
    "TokensResult",
    "UntrainedResult",
    "WordEmbeddingsResult",
    "ZeroCostResult",
    "finite",
    "finite_points",
]
