"""What the stages that train embeddings of words share: the frozen encoder and the text in which words occur."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runners.stages.context import StageContext
from runners.stages.measurement_declarations import RareWordsStage, WordEmbeddingsStage
from runners.stages.pretrain import CHECKPOINT
from runners.training.checkpoint import architecture_in, load_weights
from runners.training.mimicking import Word, frequent_words
from steeplechase.foundation.errors import DataError
from steeplechase.models.devices import open_device
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer
from steeplechase.tasks.tokens import read_tokens


@dataclass(frozen=True)
class MimickingInputs:
    """A frozen encoder, and the beginning of the training text as tokens."""

    encoder: Encoder
    tokenizer: Tokenizer
    tokens: NDArray[np.integer]

    @classmethod
    def read(cls, stage: RareWordsStage | WordEmbeddingsStage, context: StageContext) -> "MimickingInputs":
        """Return the inputs of a stage."""
        encoder = Encoder(architecture_in(context.inputs["pretrained"], stage.architecture), 0.0)
        load_weights(context.inputs["pretrained"] / CHECKPOINT, encoder, "encoder.")
        folder = context.inputs["tokens"]
        tokens = read_tokens(folder / "train.npy")[: stage.text_tokens]
        return cls(encoder.to(open_device(stage.device)), load_tokenizer(folder), tokens)

    def most_frequent(self, occurrences: int, most_words: int, place: str) -> tuple[Word, ...]:
        """Return the most frequent words. Raises DataError for fewer than 4, which names the setting at `place`."""
        words = frequent_words(self.tokens, self.tokenizer, occurrences)
        if len(words) < 4:
            reason = f"{len(words)} words of one token occur as often; too few to train and to measure"
            raise DataError(f"{place}.occurrences {occurrences}: {reason}")
        return tuple(sorted(words, key=lambda word: (-len(word.starts), word.text))[:most_words])
