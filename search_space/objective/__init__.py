"""Pretraining objectives: one file per objective."""

from typing import Annotated

from foundation.schema import OPTION
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.replaced_token_detection import ReplacedTokenDetection
from search_space.objective.span_boundary import SpanBoundary

Objective = Annotated[MaskedLanguageModel | ReplacedTokenDetection | SpanBoundary, OPTION]

__all__ = ["MaskedLanguageModel", "Objective", "ReplacedTokenDetection", "SpanBoundary"]
