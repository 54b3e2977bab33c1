"""Scores minimal pairs zero-shot by pseudo-log-likelihood. Salazar et al. 2020, arXiv 1910.14659.

A batch has sentences of one length, without padding, so a score does not depend on the other sentences of its batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from runners.stages.context import Diverged, StageContext
from runners.stages.stage import Stage, TaskStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.paths import other_parts, predictions_file
from steeplechase.tasks.progress import place
from steeplechase.tasks.tokenizer import load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steeplechase.tasks.labelled.encoding import EncodedExamples
    from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

SPECIAL_TOKENS = 2  # [CLS] and [SEP]
TOKENS_PER_BATCH = 2**14  # of the masked copies; constant, so that sums are reproducible


class MinimalPairsStage(TaskStage):
    """Score minimal pairs with the pretrained model and its head. Reads `pretrained`, `examples` and `tokens`."""

    stage: ClassVar[str] = "minimal_pairs"
    code_version: ClassVar[int] = 1
    candidate: Candidate
    generator: Architecture | None

    @classmethod
    def of(
        cls, experiment: Experiment, candidate: Candidate, seed: int, run: FineTuningRun, sources: Mapping[str, Stage]
    ) -> Stage:
        """Return the scoring of the pairs by a candidate's model."""
        generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
        declaration = cls(candidate=candidate.in_main_phase, generator=generator, task=run.task)
        return Stage(declaration, {name: sources[name] for name in ("pretrained", "examples", "tokens")})

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the scores of both sentences of every pair; return the numbers of pairs. Raises Diverged."""
        import numpy as np

        from runners.training.pretrained import read_model
        from steeplechase.tasks.labelled.encoding import load_examples

        model = read_model(context.inputs["pretrained"], self.candidate, self.generator)
        mask = load_tokenizer(context.inputs["tokens"]).mask
        counts: dict[str, JsonValue] = {}
        for part in ("dev", *other_parts(context.inputs["examples"])):
            examples = load_examples(context.inputs["examples"] / part)
            scores = sentence_scores(model, examples, mask, self, context)
            if not np.isfinite(scores).all():
                raise Diverged({"task": self.task, "error": f"{part}: log-probabilities that are not finite"})
            (context.folder / predictions_file(part)).write_text(json.dumps(scores.reshape(-1, 2).tolist()))
            counts[part] = len(examples) // 2
        others = {part: count for part, count in counts.items() if part != "dev"}
        return {"examples": counts["dev"]} | ({"others": others} if others else {})


def sentence_scores(
    model: PretrainingModel[Any],
    sentences: EncodedExamples,
    mask: int,
    stage: MinimalPairsStage,
    context: StageContext,
) -> NDArray[np.float64]:
    """Return the pseudo-log-likelihood of every sentence in nats; 0 for a sentence without tokens."""
    import numpy as np
    import torch

    from steeplechase.models.precision import autocast_to

    scores = np.zeros(len(sentences))
    completed = 0
    for batch in batches_by_length(np.asarray(sentences.lengths)):
        length = int(sentences.lengths[batch[0]])
        rows = np.asarray(sentences.tokens)[batch, :length].astype(np.int64)
        with torch.inference_mode(), autocast_to(stage.candidate.recipe.precision, model.encoder.device):
            scores[batch] = model.pseudo_log_likelihoods(rows, mask)
        completed += len(batch)
        context.progress(place(stage.task, "sentence", completed, len(sentences)), completed / max(len(sentences), 1))
    return scores


def batches_by_length(lengths: NDArray[np.int32]) -> Iterator[NDArray[np.int64]]:
    """Yield the indices of the sentences of every batch.

    The sentences of a batch have one length, and their masked copies have at most TOKENS_PER_BATCH tokens, unless one
    sentence alone has more. Sentences without tokens are in no batch.
    """
    import numpy as np

    for length in np.unique(lengths[lengths > SPECIAL_TOKENS]):
        same = np.flatnonzero(lengths == length)
        size = max(1, TOKENS_PER_BATCH // int(length) ** 2)
        yield from (same[first : first + size] for first in range(0, len(same), size))
