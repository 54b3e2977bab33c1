"""The declarations of the stages that measure a trained model. Pure; without torch."""

from runners.stages.measurement_declarations import AttentionStage, PerplexityStage, RareWordsStage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements import ATTENTION, PERPLEXITY
from steeplechase.configuration.stage_label import StageLabel


def measurement(
    experiment: Experiment, candidate: Candidate, label: StageLabel, seed: int
) -> AttentionStage | PerplexityStage | RareWordsStage:
    """Return the declaration of a label of `stage_labels.measure_labels`. Raises DataError for a missing text."""
    if label.kind == ATTENTION:
        return _attention_declaration(experiment, candidate)
    assert label.task is not None
    if label.kind == PERPLEXITY:
        return _perplexity_declaration(experiment, candidate, label.task)
    return _rare_words_declaration(experiment, candidate, label.task, seed)


def _attention_declaration(experiment: Experiment, candidate: Candidate) -> AttentionStage:
    measure = experiment.measure.attention_diagonal
    assert measure is not None
    return AttentionStage(
        architecture=candidate.architecture,
        length=experiment.baseline.recipe.sequence_length,
        within=measure.within,
        sequences=measure.sequences,
        device=candidate.recipe.device,
    )


def _rare_words_declaration(experiment: Experiment, candidate: Candidate, variant: str, seed: int) -> RareWordsStage:
    measure = experiment.measure.rare_words
    assert measure is not None
    return RareWordsStage(
        architecture=candidate.architecture,
        settings=measure.variants[variant],
        occurrences=measure.occurrences,
        text_tokens=measure.text_tokens,
        most_words=measure.most_words,
        held_out_share=measure.held_out_share,
        seed=seed,
        device=candidate.recipe.device,
    )


def _perplexity_declaration(experiment: Experiment, candidate: Candidate, name: str) -> PerplexityStage:
    measure = experiment.measure.perplexity
    assert measure is not None
    measured = measure.texts[name]
    text = measured.text
    return PerplexityStage(
        candidate=candidate.pretrained.model_copy(update={"recipe": candidate.recipe.main_phase}),
        name=name,
        text=text,
        read=text.inputs(),
        length=experiment.baseline.recipe.sequence_length,
        new_tokens=measure.new_tokens,
        memory=measured.memory if candidate.architecture.memory else None,
    )
