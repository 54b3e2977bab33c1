"""Pretraining objectives: an objective, or objectives that share their fields, per file."""

from typing import Annotated

from search_space.objective.auxiliary_loss import EntityReplacement, SpanBoundary, Supersense, WordStructure
from search_space.objective.combined import Combined
from search_space.objective.denoising import Denoising
from search_space.objective.language_model import LanguageModel
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.mixed_visibility import MixedVisibility
from search_space.objective.permutation_language_model import PermutationLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.replaced_tokens import (
    AllTokensMaskedLanguageModel,
    Electra15Percent,
    ReplacedTokenDetection,
    ReplaceMaskedLanguageModel,
)
from search_space.objective.segment_pair import NextSentencePrediction, SentenceOrderPrediction, SentenceStructure
from steeplechase.foundation.schema import OPTION

Objective = Annotated[PretrainingObjective, OPTION]

__all__ = [
    "AllTokensMaskedLanguageModel",
    "Combined",
    "Denoising",
    "Electra15Percent",
    "EntityReplacement",
    "LanguageModel",
    "MaskedLanguageModel",
    "MixedVisibility",
    "NextSentencePrediction",
    "Objective",
    "PermutationLanguageModel",
    "PretrainingObjective",
    "ReplaceMaskedLanguageModel",
    "ReplacedTokenDetection",
    "SentenceOrderPrediction",
    "SentenceStructure",
    "SpanBoundary",
    "Supersense",
    "WordStructure",
]
