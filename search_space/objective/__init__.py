"""Pretraining objectives: one file per objective, found by its file."""

from typing import Annotated

from foundation.schema import OPTION
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.replaced_token_detection import ReplacedTokenDetection

Objective = Annotated[PretrainingObjective, OPTION]

__all__ = ["MaskedLanguageModel", "Objective", "PretrainingObjective", "ReplacedTokenDetection"]
