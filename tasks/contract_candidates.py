"""The small candidates that contracts are measured on: one option of any axis in two blocks of width 24."""

from typing import Any

from foundation.schema import OpenOption, options_of
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.normalisation.option import NormalisationOption
from search_space.objective import LanguageModel, MaskedLanguageModel, Objective
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.output_layer.option import OutputLayerOption
from search_space.packing.option import PackingOption
from search_space.position import RelativePositions
from search_space.position.option import PositionOption
from search_space.recipe import Recipe
from search_space.selection.option import SelectionOption
from tasks.contract_text import WORDS

LENGTH, ROWS, WIDTH = 16, 6, 24
PLACED = (
    *(PretrainingObjective, SelectionOption, OutputLayerOption),
    *(PackingOption, NormalisationOption, PositionOption),
)
"""The axes whose options are placed in a candidate."""


def placed(option: OpenOption) -> Candidate | None:
    """Return a small candidate with the option; None where no objective of an encoder takes it."""
    if isinstance(option, PretrainingObjective):
        return None if option.writes_target else _candidate(option)
    if isinstance(option, SelectionOption):
        return _candidate(MaskedLanguageModel(selection=option))
    if isinstance(option, OutputLayerOption):
        return _candidate(LanguageModel(output_layer=option), embedding_width=WIDTH)
    if isinstance(option, PackingOption):
        objectives = (kind(**{**kind.examples[0], "packing": option}) for kind in options_of(PretrainingObjective))
        return next((_candidate(each) for each in objectives if each.reads(option) and not each.writes_target), None)
    assert isinstance(option, NormalisationOption | PositionOption)
    axis = "normalisation" if isinstance(option, NormalisationOption) else "position"
    return _candidate(MaskedLanguageModel(), **{axis: option})


def _candidate(objective: Objective, **sizes: Any) -> Candidate:
    """Return the candidate of an objective with a visibility that it can be trained with."""
    declared: dict[str, Any] = {
        "depth": 2,
        "width": WIDTH,
        "embedding_width": WIDTH // 2,
        "heads": 4,
        "feed_forward_width": 32,
        "vocabulary_size": WORDS.vocabulary_size,
        "positions": 2 * LENGTH,
        "segments": 2,
        "visibility": objective.visibilities[0],
    }
    if declared["visibility"] == "permutation":  # whose query stream knows its place by relative positions alone
        position = RelativePositions(segment_encodings=objective.packing.follows_text)
        declared |= {"embedding_width": WIDTH, "position": position, "attention_biases": False}
    recipe = Recipe(sequence_length=LENGTH, batch_sequences=ROWS, dropout=0.0)
    return Candidate(architecture=Architecture(**{**declared, **sizes}), objective=objective, recipe=recipe)
