"""The own vocabulary of a task's sources, learned from those of training alone, for a new source encoder."""

from collections.abc import Sequence
from pathlib import Path

from runners.stages.examples import ExamplesStage
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.result_files import SOURCE_TOKENIZER
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer, train_tokenizer


def source_tokenizer(stage: ExamplesStage, train: Sequence[Example], folder: Path) -> Tokenizer | None:
    """Write the sources' own tokenizer below a folder and return it; None if they have none.

    Raises DataError where the sources give no vocabulary of the size, or one in which every word is unknown.
    """
    if stage.source_tokenizer is None:
        return None
    size = stage.source_vocabulary_size
    assert size is not None
    place = f"{stage.task}: generation.source_encoder learns its vocabulary from {len(train):,} sources of training"
    texts = [example.first for example in train]
    try:
        tokenizer = train_tokenizer(stage.source_tokenizer, texts, size)
    except DataError as wrong:
        raise DataError([f"{place}: {line}" for line in wrong.lines]) from wrong
    if tokenizer.vocabulary_size > size:
        least = tokenizer.vocabulary_size
        raise DataError(f"{place}: {least:,} pieces at least, vocabulary_size is {size:,}; write {least:,} or more")
    if all(token == tokenizer.unknown for tokens in tokenizer.encode(texts) for token in tokens):
        raise DataError(f"{place}: with vocabulary_size {size:,} every word is unknown; enlarge it")
    (folder / SOURCE_TOKENIZER).mkdir(exist_ok=True)
    tokenizer.save(folder / SOURCE_TOKENIZER)
    return tokenizer
