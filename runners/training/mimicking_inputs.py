"""What the stages that train embeddings of words share: the frozen encoder and the text in which words occur."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from runners.training.mimicking import Word, frequent_words
from runners.training.pretrained import read_encoder
from search_space.architecture import Architecture
from steeplechase.foundation.errors import DataError
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer
from steeplechase.tasks.tokens import read_tokens

Device = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class MimickingInputs:
    """A frozen encoder, and the beginning of the training text as tokens."""

    encoder: Encoder
    tokenizer: Tokenizer
    tokens: NDArray[np.integer]

    @classmethod
    def read(cls, inputs: Mapping[str, Path], architecture: Architecture, device: Device, text_tokens: int) -> Self:
        """Return what a stage reads: the encoder in `pretrained`, and `text_tokens` of the text in `tokens`."""
        encoder, folder = read_encoder(inputs["pretrained"], architecture, device), inputs["tokens"]
        return cls(encoder, load_tokenizer(folder), read_tokens(folder / "train.npy")[:text_tokens])

    def most_frequent(self, occurrences: int, most_words: int, place: str) -> tuple[Word, ...]:
        """Return the most frequent words. Raises DataError for fewer than 4, which names the setting at `place`."""
        words = frequent_words(self.tokens, self.tokenizer, occurrences)
        if len(words) < 4:
            reason = f"{len(words)} words of one token occur as often; too few to train and to measure"
            raise DataError(f"{place}.occurrences {occurrences}: {reason}")
        return tuple(sorted(words, key=lambda word: (-len(word.starts), word.text))[:most_words])
