"""Stages that compute embeddings of the rare words of a task. Without torch."""

from runners.stages.measurement_declarations import WordEmbeddingsStage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import WORD_EMBEDDINGS, StageLabel
from steeplechase.tasks.own_tasks.rarified import RareWordsTask


def word_embeddings_declaration(
    experiment: Experiment, candidate: Candidate, task: str, seed: int
) -> WordEmbeddingsStage:
    """Return the embeddings of the rare words of a task that has them."""
    own, rarified = experiment.fine_tuning.own_tasks[task], experiment.fine_tuning.rarified(task)
    assert isinstance(own, RareWordsTask)
    assert rarified is not None
    return WordEmbeddingsStage(
        architecture=candidate.architecture,
        task=task,
        settings=own.embeddings,
        occurrences=own.occurrences,
        text_tokens=rarified.text_tokens,
        most_words=own.most_words,
        seed=seed,
        device=candidate.recipe.device,
    )


def word_embeddings_label(experiment: Experiment, task: str) -> str | None:
    """Return the label of the stage of a task's rare words; None for a task without embeddings of them."""
    has_words = isinstance(experiment.fine_tuning.own_tasks.get(task), RareWordsTask)
    return str(StageLabel(WORD_EMBEDDINGS, task=task)) if has_words else None


def word_embeddings_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of the stages of rare words, of every task that has one."""
    labels = (word_embeddings_label(experiment, task) for task in experiment.fine_tuning.tasks)
    return tuple(label for label in labels if label is not None)
