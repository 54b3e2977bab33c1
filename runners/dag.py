"""The stages of an experiment, with their labels and inputs, as a directed acyclic graph. Pure; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from configuration.experiment import Experiment
from configuration.fine_tuning import FineTuning
from configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs, settings_of
from configuration.initial_checkpoint import WEIGHTS, InitialCheckpoint, read_initial_checkpoint
from configuration.stage_label import LONG_SEQUENCE_PHASE, PROBE, StageLabel
from runners.frozen_evaluations import frozen_evaluation, untrained_stages
from runners.missing_data import collected, refuse_missing, tasks_of
from runners.stage_labels import (
    hurdle_labels,
    measure_labels,
    needs_long_sequence_phase,
    pretrain_labels,
    pretraining_tokens,
)
from runners.stages.declarations import (
    AttentionStage,
    ContaminationStage,
    CorpusStage,
    EvaluationSetStage,
    ExamplesStage,
    FineTuneStage,
    PretrainStage,
    TokensStage,
)
from runners.stages.stage import Stage
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from tasks.corpora.corpus import Corpus
from tasks.downstream import find_task


@dataclass(frozen=True)
class SharedStages:
    """The stages that are inputs of all trials."""

    corpus: Stage
    tokens: Stage
    evaluation_set: Stage
    examples: Mapping[str, Stage]
    """By task."""
    other_corpora: tuple[Stage, ...] = ()
    """Corpora of the tasks' documents, if not the pretraining corpus."""
    contaminations: Mapping[str, Stage] = field(default_factory=dict)
    """By task: overlap of its dev set with the pretraining text."""
    untrained: Mapping[str, Stage] = field(default_factory=dict)
    """By label: untrained encoders, and their evaluation on every task."""
    initial_checkpoint: InitialCheckpoint | None = None
    """Verified initial weights of every encoder; None: initialised from the seed."""

    def named(self) -> dict[str, Stage]:
        """Return every stage by label, in topological order."""
        others = {str(StageLabel("corpus", number=n)): stage for n, stage in enumerate(self.other_corpora, 1)}
        examples = {str(StageLabel("examples", task=task)): stage for task, stage in self.examples.items()}
        contaminations = {
            str(StageLabel("contamination", task=task)): stage for task, stage in self.contaminations.items()
        }
        data = {"corpus": self.corpus, **others, "tokens": self.tokens, **examples}
        return {**data, **contaminations, "evaluation_set": self.evaluation_set, **self.untrained}


def shared_stages(experiment: Experiment) -> SharedStages:
    """Return the stages before any trial.

    Raises DataError with all missing sources: corpora, vocabulary, files of every task.
    """
    refuse_missing(experiment)
    architecture = experiment.baseline.architecture
    corpus = _corpus_stage(experiment.corpus)
    vocabulary = TokensStage(
        tokenizer=experiment.tokenizer,
        read=experiment.tokenizer.inputs(),
        vocabulary_size=architecture.vocabulary_size,
    )
    tokens = Stage(vocabulary, {"corpus": corpus})
    tuning_corpus = experiment.fine_tuning.corpus
    documents = corpus if tuning_corpus in (None, experiment.corpus) else _corpus_stage(tuning_corpus)
    examples = _examples_by_task(experiment, documents, tokens)
    contaminations = {task: _contamination(stage, corpus) for task, stage in examples.items()}
    from_documents = any("corpus" in stage.inputs for stage in examples.values())
    others = (documents,) if from_documents and documents is not corpus else ()
    evaluation_set = _evaluation_set(experiment, tokens)
    shared = SharedStages(
        corpus,
        tokens,
        evaluation_set,
        examples,
        others,
        contaminations,
        initial_checkpoint=_initial_checkpoint(experiment),
    )
    return replace(shared, untrained=untrained_stages(experiment, partial(_evaluated, experiment, shared)))


def trial_stages(experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int) -> dict[str, Stage]:
    """Return the stages of one candidate at one pretraining seed by label, in topological order."""
    stages: dict[str, Stage] = {}
    inputs = {"tokens": shared.tokens, "evaluation_set": shared.evaluation_set}
    last_step = 0
    pretrained: Stage | None = None
    for label, tokens in zip(pretrain_labels(experiment), pretraining_tokens(experiment), strict=True):
        step = candidate.recipe.steps(tokens)
        previous = {"previous": pretrained} if pretrained else {}
        declaration = _pretrain(experiment, candidate, seed, (last_step, step))
        if not previous:
            declaration = _with_initial_checkpoint(declaration, shared.initial_checkpoint)
        pretrained = Stage(declaration, {**inputs, **previous})
        stages[label], last_step = pretrained, step
        probe = experiment.pretraining.hurdle.probe
        if probe is not None and (name := str(StageLabel(PROBE, tokens))) in hurdle_labels(experiment):
            settings = settings_of(experiment.fine_tuning, probe.task)
            run = FineTuningRun(probe.task, probe.seed, settings, {}, None)
            stages[name] = _evaluated(experiment, shared, candidate, pretrained, seed, run)
    assert pretrained is not None
    for label in measure_labels(experiment):
        attention = _attention(experiment, candidate)
        stages[label] = Stage(attention, {"pretrained": pretrained, "tokens": shared.tokens})
    for run in sorted(
        fine_tuning_runs(experiment.fine_tuning), key=lambda run: needs_long_sequence_phase(candidate, run.task)
    ):
        if needs_long_sequence_phase(candidate, run.task) and LONG_SEQUENCE_PHASE not in stages:
            declaration = _long_sequence_phase(experiment, candidate, seed, last_step)
            pretrained = stages[LONG_SEQUENCE_PHASE] = Stage(declaration, {**inputs, "previous": pretrained})
        stages[run.label] = _evaluated(experiment, shared, candidate, pretrained, seed, run)
    return stages


def _evaluated(
    experiment: Experiment,
    shared: SharedStages,
    candidate: Candidate,
    pretrained: Stage,
    pretraining_seed: int,
    run: FineTuningRun,
) -> Stage:
    """Return the stage that evaluates a pretrained candidate on a task, by the task's method."""
    sources = {"pretrained": pretrained, "examples": shared.examples[run.task]}
    frozen = frozen_evaluation(experiment, candidate, run.task, sources, shared.tokens)
    return frozen or Stage(_fine_tune(run.settings, candidate, run.task, (pretraining_seed, run.seed)), sources)


def _corpus_stage(corpus: Corpus) -> Stage:
    return Stage(CorpusStage(corpus=corpus, read=corpus.inputs()))


def _examples_by_task(experiment: Experiment, documents: Stage, tokens: Stage) -> dict[str, Stage]:
    tasks = tasks_of(experiment)
    stages = collected(partial(_examples, experiment, task, documents, tokens) for task in tasks)
    return dict(zip(tasks, stages, strict=True))


def _examples(experiment: Experiment, name: str, documents: Stage, tokens: Stage) -> Stage:
    tuning, task = settings_of(experiment.fine_tuning, name), find_task(name)
    data = tuning.data if task.files else None
    declaration = ExamplesStage(
        task=name,
        task_version=task.version,
        train_examples=task.limit("train", tuning.train_examples),
        dev_examples=task.limit("dev", tuning.dev_examples),
        sequence_length=tuning.sequence_length,
        data=data,
        read=data.inputs(task.files) if data and task.files else None,
        swap_pairs=tuning.swap_pairs and task.unordered,
    )
    return Stage(declaration, {"tokens": tokens} if task.files else {"corpus": documents, "tokens": tokens})


def _contamination(examples: Stage, corpus: Stage) -> Stage:
    declaration = examples.declaration
    assert isinstance(declaration, ExamplesStage)
    source = {"documents": examples.inputs["corpus"]} if "corpus" in examples.inputs else {}
    fields = {name: getattr(declaration, name) for name in ContaminationStage.model_fields}
    return Stage(ContaminationStage(**fields), {"corpus": corpus, **source})


def _evaluation_set(experiment: Experiment, tokens: Stage) -> Stage:
    baseline = experiment.pretraining.evaluation_reference or experiment.baseline
    generator = baseline.objective.generator_of(baseline.architecture, baseline.architecture)
    masking = baseline.objective.model_dump(include={"mask_rate", "mask_token_share", "random_token_share"})
    recipe = baseline.recipe.before_long_sequences
    reference = baseline.model_copy(update={"objective": MaskedLanguageModel(**masking), "recipe": recipe})
    if generator is not None:
        reference = reference.model_copy(update={"architecture": generator})
    declaration = EvaluationSetStage(
        reference=reference,
        objective=baseline.objective.kind,
        sequences=experiment.pretraining.held_out_sequences,
        generator_tokens=0 if generator is None else experiment.pretraining.reference_generator_tokens,
    )
    return Stage(declaration, {"tokens": tokens})


def _pretrain(experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int]) -> PretrainStage:
    settings = experiment.pretraining
    total_steps = candidate.recipe.steps(settings.tokens)
    points = {max(1, total_steps * point // settings.evaluations) for point in range(1, settings.evaluations + 1)}
    return PretrainStage(
        candidate=candidate.model_copy(update={"recipe": candidate.recipe.before_long_sequences}),
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=steps[0],
        to_step=steps[1],
        evaluation_steps=tuple(sorted({point for point in points if steps[0] < point <= steps[1]} | {steps[1]})),
        horizon_tokens=candidate.recipe.schedule.horizon(total_steps * candidate.recipe.tokens_per_step),
    )


def _long_sequence_phase(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the updates at the longer length: pretraining of the same candidate with another recipe."""
    to_step = from_step + candidate.recipe.long_sequence_updates(from_step)
    candidate = candidate.model_copy(update={"recipe": candidate.recipe.of_long_sequences})
    return PretrainStage(
        candidate=candidate,
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=from_step,
        to_step=to_step,
        evaluation_steps=(to_step,),
        horizon_tokens=candidate.recipe.schedule.horizon(to_step * candidate.recipe.tokens_per_step),
    )


def _initial_checkpoint(experiment: Experiment) -> InitialCheckpoint | None:
    if experiment.pretraining.init_checkpoint is None:
        return None
    checkpoint = read_initial_checkpoint(Path(experiment.pretraining.init_checkpoint))
    checkpoint.verify(WEIGHTS)  # once, before any folder is created
    return checkpoint


def _with_initial_checkpoint(declaration: PretrainStage, checkpoint: InitialCheckpoint | None) -> PretrainStage:
    """Return a trial's first stage, with the weights of the initial checkpoint if there is one."""
    if checkpoint is None:
        return declaration
    return declaration.model_copy(
        update={"init_checkpoint": str(checkpoint.folder), "init_checkpoint_weights": checkpoint.weights_hash}
    )


def _attention(experiment: Experiment, candidate: Candidate) -> AttentionStage:
    measure = experiment.measure.attention_diagonal
    assert measure is not None
    return AttentionStage(
        architecture=candidate.architecture,
        length=experiment.baseline.recipe.sequence_length,
        within=measure.within,
        sequences=measure.sequences,
        device=candidate.recipe.device,
    )


def _fine_tune(tuning: FineTuning, candidate: Candidate, task: str, seeds: tuple[int, int]) -> FineTuneStage:
    return FineTuneStage(
        architecture=candidate.architecture,
        device=candidate.recipe.device,
        precision=candidate.recipe.precision,
        task=task,
        pretraining_seed=seeds[0],
        seed=seeds[1],
        **tuning.training,
    )
