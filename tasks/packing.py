"""Opens the sequences of a split as an objective reads them: pieces of one stream, or pairs of segments."""

from pathlib import Path

from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.segment_pair import SegmentPair
from tasks.batches import Batches, SequenceSource
from tasks.mentions.sequences import MentionBatches
from tasks.mentions.token_mentions import EntityNames, mention_file, read_mentions
from tasks.segment_pairs import SegmentPairs
from tasks.sentence_starts import read_sentence_starts, sentence_file
from tasks.tokenizer import Tokenizer
from tasks.tokens import read_tokens


def open_split(
    folder: Path, split: str, tokenizer: Tokenizer, sequence_length: int, objective: PretrainingObjective
) -> SequenceSource:
    """Return the sequences of a split in the folder of the tokens stage. Raises CorruptionError."""
    tokens = read_tokens(folder / f"{split}.npy")
    if objective.packing == "stream":
        return Batches(tokens, tokenizer, sequence_length)
    if objective.packing == "mentions":
        mentions = read_mentions(mention_file(folder, split))
        return MentionBatches(tokens, mentions, EntityNames.load(folder), tokenizer, sequence_length)
    assert isinstance(objective, SegmentPair)
    sentences = read_sentence_starts(sentence_file(folder, split))
    return SegmentPairs(tokens, sentences, tokenizer, sequence_length, objective)
