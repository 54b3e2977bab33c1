"""What stages achieve: one frozen class per kind of stage and end, read and written as the JSON of a ledger.

A whole number stays whole and a real one real, and a field that was never written stays so: what is read is written
back as the same bytes. Losses and scores may be NaN or infinite in memory; `finite` is how a reader asks for them.
"""

from functools import cache

import steeplechase.configuration.measurements  # noqa: F401 - its files declare the results of measurements
from steeplechase.configuration.stage_result import Curve as Curve
from steeplechase.configuration.stage_result import Real as Real
from steeplechase.configuration.stage_result import Result as Result
from steeplechase.configuration.stage_result import finite as finite
from steeplechase.configuration.stage_result import finite_points as finite_points
from steeplechase.foundation.schema import Whole, subclasses
from steeplechase.ledger.stage_results.shared import ContaminationResult as ContaminationResult
from steeplechase.ledger.stage_results.shared import CorpusResult as CorpusResult
from steeplechase.ledger.stage_results.shared import EncodedPart as EncodedPart
from steeplechase.ledger.stage_results.shared import EvaluationSetResult as EvaluationSetResult
from steeplechase.ledger.stage_results.shared import ExamplesResult as ExamplesResult
from steeplechase.ledger.stage_results.shared import SquadPart as SquadPart
from steeplechase.ledger.stage_results.shared import TokensResult as TokensResult
from steeplechase.ledger.stage_results.training import DivergedFineTuning as DivergedFineTuning
from steeplechase.ledger.stage_results.training import DivergedPretraining as DivergedPretraining
from steeplechase.ledger.stage_results.training import ExampleValues as ExampleValues
from steeplechase.ledger.stage_results.training import FineTuneResult as FineTuneResult
from steeplechase.ledger.stage_results.training import LinearProbeResult as LinearProbeResult
from steeplechase.ledger.stage_results.training import MinimalPairsResult as MinimalPairsResult
from steeplechase.ledger.stage_results.training import Pretraining as Pretraining
from steeplechase.ledger.stage_results.training import PretrainResult as PretrainResult
from steeplechase.ledger.stage_results.training import SearchChoice as SearchChoice
from steeplechase.ledger.stage_results.training import UntrainedResult as UntrainedResult


class FailedStage(Result):
    """The stage raised or its worker died: there is no result."""

    error: str
    trace: str = ""
    attempts: Whole = 1

    @property
    def outcome(self) -> str:
        """The error."""
        return f"failed: {self.error}"


StageResult = Result
"""How a stage ended; its kind and its status say which class it is."""


@cache
def result_class(kind: str, status: str) -> type[Result] | None:
    """Return the class of the results of a kind of stage that has finished, diverged or failed; None without one."""
    if status == "failed":
        return FailedStage
    return next((each for each in subclasses(Result) if kind in getattr(each, status)), None)
