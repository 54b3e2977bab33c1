"""Pretraining objectives: one file per objective, found by its file."""

from typing import Annotated

from foundation.schema import OPTION
from search_space.objective.language_model import LanguageModel
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.replaced_token_detection import ReplacedTokenDetection
from search_space.objective.span_boundary import SpanBoundary

Objective = Annotated[PretrainingObjective, OPTION]

__all__ = [
    "LanguageModel",
    "MaskedLanguageModel",
    "Objective",
    "PretrainingObjective",
    "ReplacedTokenDetection",
    "SpanBoundary",
]
