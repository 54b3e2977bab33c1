"""Pretraining objectives: one file per objective, found by its file."""

from typing import Annotated

from search_space.objective.all_tokens_masked_language_model import AllTokensMaskedLanguageModel
from search_space.objective.combined import Combined
from search_space.objective.denoising import Denoising
from search_space.objective.electra_15_percent import Electra15Percent
from search_space.objective.entity_replacement import EntityReplacement
from search_space.objective.language_model import LanguageModel
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.mixed_visibility import MixedVisibility
from search_space.objective.next_sentence_prediction import NextSentencePrediction
from search_space.objective.permutation_language_model import PermutationLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.replace_masked_language_model import ReplaceMaskedLanguageModel
from search_space.objective.replaced_token_detection import ReplacedTokenDetection
from search_space.objective.sentence_order_prediction import SentenceOrderPrediction
from search_space.objective.sentence_structure import SentenceStructure
from search_space.objective.span_boundary import SpanBoundary
from search_space.objective.supersense import Supersense
from search_space.objective.word_structure import WordStructure
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
