"""Embeddings of the rare words of a task's examples, from their form and contexts, to be read at fine-tuning.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from runners.stages.context import StageContext
from runners.stages.rare_words import MimickingStage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import WORD_EMBEDDINGS, StageLabel
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import RARE_WORDS
from steeplechase.tasks.own_tasks.derived import RareWordsTask

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from runners.training.mimicking import Word

EMBEDDINGS = "embeddings.npy"
"""The file of the embeddings, in the order of the words' tokens."""


class WordEmbeddingsStage(MimickingStage):
    """Train embeddings of words from form and contexts, and compute those of the rare words of a task's examples.

    Reads `pretrained`, `tokens` and `examples`.
    """

    stage: ClassVar[str] = "word_embeddings"
    code_version: ClassVar[int] = 1
    task: str
    """The task whose rare words are embedded, for messages."""

    @staticmethod
    def label(experiment: Experiment, task: str) -> str | None:
        """Return the label of the stage of a task's rare words; None for a task without embeddings of them."""
        has_words = isinstance(experiment.fine_tuning.own_tasks.get(task), RareWordsTask)
        return str(StageLabel(WORD_EMBEDDINGS, task=task)) if has_words else None

    @classmethod
    def labels(cls, experiment: Experiment) -> tuple[str, ...]:
        """Return the labels of the stages of rare words, of every task that has one."""
        labels = (cls.label(experiment, task) for task in experiment.fine_tuning.tasks)
        return tuple(label for label in labels if label is not None)

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, task: str, seed: int) -> Self:
        """Return the embeddings of the rare words of a task that has them."""
        own, rarified = experiment.fine_tuning.own_tasks[task], experiment.fine_tuning.rarified(task)
        assert isinstance(own, RareWordsTask)
        assert rarified is not None
        return cls(
            architecture=candidate.architecture,
            task=task,
            settings=own.embeddings,
            occurrences=own.occurrences,
            text_tokens=rarified.text_tokens,
            most_words=own.most_words,
            seed=seed,
            device=candidate.recipe.device,
        )

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write an embedding for every rare word of the examples. Raises DataError where frequent words are few."""
        import numpy as np

        from runners.training.mimicking import embeddings_of, found_words
        from steeplechase.models.rare_words import CONTEXT

        read = self.read(context, f"fine_tuning.own_tasks.{self.task}")
        model, source, errors = self.learned(read, read.frequent, context)
        words = json.loads((context.inputs["examples"] / RARE_WORDS).read_text())
        rare = found_words(words, read.tokens, read.tokenizer)
        with_form = [self.settings.variant == CONTEXT or bool(source.ngrams.known(word.text)) for word in rare]
        table = _means_of_pieces(read.encoder.embeddings.tokens.weight.detach(), rare)
        rows = [row for row, known in enumerate(with_form) if known]
        if rows:
            table[rows] = embeddings_of(model, [rare[row] for row in rows], source)
        np.save(context.folder / EMBEDDINGS, table.float().cpu().numpy(), allow_pickle=False)
        return {
            "variant": self.settings.variant,
            "taught": len(read.frequent),
            "words": len(rare),
            "without_ngram": len(rare) - len(rows),
            "training_error": errors,
        }


def _means_of_pieces(
    table: Float[Tensor, "vocab embedding"], words: Sequence[Word]
) -> Float[Tensor, "words embedding"]:
    import torch

    return torch.stack([table[list(word.pieces)].mean(0) for word in words])
