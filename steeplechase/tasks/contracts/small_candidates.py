"""The small candidates that contracts are measured on: one option of any axis in two blocks of width 24."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.corruption.option import CorruptionOption
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.normalisation.option import NormalisationOption
from search_space.objective import Denoising, LanguageModel, MaskedLanguageModel, Objective, ReplacedTokenDetection
from search_space.objective.generator_training.option import GeneratorTrainingOption
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.output_layer.option import OutputLayerOption
from search_space.packing.option import PackingOption
from search_space.packing.sequences import EntityNames, SequenceSource, Text
from search_space.position import RelativePositions
from search_space.position.option import PositionOption
from search_space.recipe import Recipe
from search_space.selection.option import SelectionOption
from search_space.visibility import Visibility
from steeplechase.foundation.schema import OpenOption, options_of
from steeplechase.tasks.packing import sequences_of
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

WORDS = WordPiece([*SPECIAL_TOKENS, *(f"w{number}" for number in range(34)), "."], lowercase=True)
NAMES = EntityNames(
    ["person", "place", "person", "place"], [[(7,), (8, 9)], [(10, 11)], [(12,)], [(13,), (14, 15, 16)]]
)
TOKENS = 2000


@cache
def text(tokens: int = TOKENS) -> NDArray[np.uint16]:
    """Return a stream in which a word mostly follows from the one before, with [SEP] now and then."""
    random = np.random.default_rng(5)
    stream = np.empty(tokens, dtype=np.uint16)
    word = 0
    for place in range(tokens):
        word = (3 * word + 1) % 35 if random.random() < 0.9 else int(random.integers(35))
        stream[place] = WORDS.separate if place % 50 == 49 else word + len(SPECIAL_TOKENS)
    return stream


def mentions() -> NDArray[np.int64]:
    """Return a mention of one or two tokens at every seventh token of `text`, of entity 0 to 3 in turn."""
    starts = np.arange(2, TOKENS - 10, 7)
    return np.stack([starts, starts + 1 + starts % 2, np.arange(len(starts)) % 4], axis=1)


def sequences(objective: Objective, length: int = 16) -> SequenceSource:
    """Return the sequences that the objective is prepared from; a sentence of the text has five tokens."""
    starts = np.flatnonzero(np.arange(TOKENS) % 50 % 5 == 0)[:-1]
    return sequences_of(Text(text(), starts, WORDS, length, mentions(), NAMES), objective)


LENGTH, ROWS, WIDTH = 16, 6, 24
PLACED = (
    *(PretrainingObjective, SelectionOption, OutputLayerOption),
    *(PackingOption, NormalisationOption, PositionOption),
    *(CorruptionOption, GeneratorTrainingOption),
)
"""The axes whose options are placed in a candidate."""


def placed(option: OpenOption) -> Candidate | None:
    """Return a small candidate with the option; None where no objective of the contracts takes it."""
    if isinstance(option, NormalisationOption | PositionOption):
        axis = "normalisation" if isinstance(option, NormalisationOption) else "position"
        return small_candidate(MaskedLanguageModel(), **{axis: option})
    objective = _objective_of(option)
    if objective is None:
        return None
    sizes = {"embedding_width": WIDTH} if isinstance(option, OutputLayerOption) else {}
    return _writing_candidate(objective) if objective.writes_target else small_candidate(objective, **sizes)


def with_layers(program: str, visibility: Visibility = "bidirectional") -> Candidate:
    """Return a small candidate with a layer program; it predicts masked tokens, or the next where some are hidden."""
    objective = MaskedLanguageModel() if visibility == "bidirectional" else LanguageModel()
    return small_candidate(objective, layers=program, visibility=visibility)


def _objective_of(option: OpenOption) -> Objective | None:
    """Return the objective that takes an option of one of its axes."""
    objective: Objective | None
    match option:
        case PretrainingObjective():
            objective = option
        case CorruptionOption():
            objective = Denoising(corruption=option)
        case GeneratorTrainingOption():
            objective = _replaced_tokens(option)
        case SelectionOption():
            objective = MaskedLanguageModel(selection=option)
        case OutputLayerOption():
            objective = LanguageModel(output_layer=option)
        case _:
            assert isinstance(option, PackingOption)
            every = (kind(**{**kind.examples[0], "packing": option}) for kind in options_of(PretrainingObjective))
            objective = next((each for each in every if each.reads(option) and not each.writes_target), None)
    return objective


def _replaced_tokens(training: GeneratorTrainingOption) -> ReplacedTokenDetection:
    """Return the objective of a generator's training, with the sizes that it needs."""
    if not training.needs_equal_sizes:
        return ReplacedTokenDetection(generator_training=training)
    return ReplacedTokenDetection(
        generator="own", generator_ratio=1, generator_sharing="none", generator_training=training
    )


def _writing_candidate(objective: Objective) -> Candidate:
    """Return the candidate of an objective whose target a decoder writes."""
    architecture = EncoderDecoderArchitecture(
        kind="encoder_decoder",
        depth=1,
        decoder_depth=1,
        width=WIDTH,
        heads=4,
        feed_forward_width=32,
        vocabulary_size=WORDS.vocabulary_size,
        positions=2 * LENGTH,
    )
    recipe = Recipe(sequence_length=LENGTH, batch_sequences=ROWS, dropout=0.0)
    return Candidate(architecture=architecture, objective=objective, recipe=recipe)


def small_candidate(objective: Objective, **sizes: Any) -> Candidate:
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
