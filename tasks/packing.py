"""Opens the sequences of a split as an objective reads them: pieces of one stream, or pairs of segments."""

from pathlib import Path

from search_space.objective.auxiliary_loss import WithAuxiliaryLosses
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.segment_pair import SegmentPair
from tasks.batches import Batches, SequenceSource
from tasks.segment_pairs import SegmentPairs
from tasks.sentence_starts import read_sentence_starts, sentence_file
from tasks.tokenizer import Tokenizer
from tasks.tokens import read_tokens


def open_split(
    folder: Path, split: str, tokenizer: Tokenizer, sequence_length: int, objective: PretrainingObjective
) -> SequenceSource:
    """Return the sequences of a split in the folder of the tokens stage. Raises CorruptionError."""
    tokens, pairs = read_tokens(folder / f"{split}.npy"), pairs_of(objective)
    if pairs is None:
        return Batches(tokens, tokenizer, sequence_length)
    sentences = read_sentence_starts(sentence_file(folder, split))
    return SegmentPairs(tokens, sentences, tokenizer, sequence_length, pairs)


def pairs_of(objective: PretrainingObjective) -> SegmentPair | None:
    """Return the declaration of an objective's pairs of segments; None if it reads one stream."""
    losses = objective.auxiliary_losses if isinstance(objective, WithAuxiliaryLosses) else ()
    return next((each for each in losses if isinstance(each, SegmentPair)), None)
