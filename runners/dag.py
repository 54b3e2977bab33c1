"""From an experiment to its stages: which work a table needs, in which order, under which names. Pure, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from configuration.experiment import Experiment
from configuration.fine_tuning import FineTuning
from configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs, settings_of
from configuration.initial_checkpoint import WEIGHTS, InitialCheckpoint, read_initial_checkpoint
from configuration.measurements import ATTENTION
from configuration.stage_label import LONG_SEQUENCE_PHASE, PRETRAIN, PROBE, StageLabel
from runners.frozen_evaluations import frozen_evaluation, untrained_stages
from runners.missing_data import answers, refuse_missing, tasks_of
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
    """The stages that all trials of an experiment read."""

    corpus: Stage
    tokens: Stage
    evaluation_set: Stage
    examples: Mapping[str, Stage]
    """By task."""
    other_corpora: tuple[Stage, ...] = ()
    """Where the tasks' documents come from, when that is not the pretraining corpus."""
    contaminations: Mapping[str, Stage] = field(default_factory=dict)
    """By task: what the pretraining text holds of its dev set."""
    untrained: Mapping[str, Stage] = field(default_factory=dict)
    """By label: untrained encoders, and their evaluation on every task."""
    start: InitialCheckpoint | None = None
    """What every encoder begins from, its weights verified; they are drawn from the seed where there is none."""

    def named(self) -> dict[str, Stage]:
        """Return every stage by its label, the earliest first."""
        others = {str(StageLabel("corpus", number=n)): stage for n, stage in enumerate(self.other_corpora, 1)}
        examples = {str(StageLabel("examples", task=task)): stage for task, stage in self.examples.items()}
        contaminations = {
            str(StageLabel("contamination", task=task)): stage for task, stage in self.contaminations.items()
        }
        first = {"corpus": self.corpus, **others, "tokens": self.tokens, **examples}
        return {**first, **contaminations, "evaluation_set": self.evaluation_set, **self.untrained}


def shared_stages(experiment: Experiment) -> SharedStages:
    """Return the stages that come before any trial.

    Raises DataError with everything that is missing: the corpora, the vocabulary, the files of every task.
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
    examples = _every_examples(experiment, documents, tokens)
    contaminations = {task: _contamination(stage, corpus) for task, stage in examples.items()}
    read = any("corpus" in stage.inputs for stage in examples.values())
    others = (documents,) if read and documents is not corpus else ()
    evaluation_set = _evaluation_set(experiment, tokens)
    start = _start(experiment)
    shared = SharedStages(corpus, tokens, evaluation_set, examples, others, contaminations, start=start)
    return replace(shared, untrained=untrained_stages(experiment, partial(_evaluated, experiment, shared)))


def pretrain_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the pretraining stages of a trial, one per hurdle and one to the end."""
    return tuple(str(StageLabel(PRETRAIN, tokens)) for tokens in _token_marks(experiment))


def judged_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the stages that the hurdles look at: probes where there are some, else pretraining."""
    hurdle = experiment.pretraining.hurdle
    return tuple(str(StageLabel(PROBE if hurdle.probe else PRETRAIN, tokens)) for tokens in hurdle.rung_tokens)


def fine_tune_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the fine-tuning stages of a trial."""
    return tuple(teaching.label for teaching in fine_tuning_runs(experiment.fine_tuning))


def measure_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the stages that describe a trained model."""
    return () if experiment.measure.attention_diagonal is None else (ATTENTION,)


def has_long_sequence_phase(experiment: Experiment, candidate: Candidate) -> bool:
    """Return whether a candidate is trained on at a longer length before some of its tasks."""
    return any(_needs_long_sequences(candidate, task) for task in experiment.fine_tuning.tasks)


def all_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the stages that a trial goes through when nothing stops it."""
    asked = (*fine_tune_labels(experiment), *measure_labels(experiment))
    every = (*pretrain_labels(experiment), *judged_labels(experiment), *asked)
    return tuple(dict.fromkeys(every))


def trial_stages(experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int) -> dict[str, Stage]:
    """Return the stages of one candidate at one pretraining seed by label, in order."""
    stages: dict[str, Stage] = {}
    inputs = {"tokens": shared.tokens, "evaluation_set": shared.evaluation_set}
    last_step = 0
    pretrained: Stage | None = None
    for label, tokens in zip(pretrain_labels(experiment), _token_marks(experiment), strict=True):
        step = candidate.recipe.steps(tokens)
        before = {"previous": pretrained} if pretrained else {}
        declaration = _pretrain(experiment, candidate, seed, (last_step, step))
        pretrained = Stage(declaration if before else _begun(declaration, shared.start), {**inputs, **before})
        stages[label], last_step = pretrained, step
        probe = experiment.pretraining.hurdle.probe
        if probe is not None and (name := str(StageLabel(PROBE, tokens))) in judged_labels(experiment):
            settings = settings_of(experiment.fine_tuning, probe.task)
            run = FineTuningRun(probe.task, probe.seed, settings, {}, None)
            stages[name] = _evaluated(experiment, shared, candidate, pretrained, run)
    assert pretrained is not None
    for label in measure_labels(experiment):
        looked = _attention(experiment, candidate)
        stages[label] = Stage(looked, {"pretrained": pretrained, "tokens": shared.tokens})
    for one in sorted(
        fine_tuning_runs(experiment.fine_tuning), key=lambda one: _needs_long_sequences(candidate, one.task)
    ):
        if _needs_long_sequences(candidate, one.task) and LONG_SEQUENCE_PHASE not in stages:
            declaration = _long_sequence_phase(experiment, candidate, seed, last_step)
            pretrained = stages[LONG_SEQUENCE_PHASE] = Stage(declaration, {**inputs, "previous": pretrained})
        stages[one.label] = _evaluated(experiment, shared, candidate, pretrained, one)
    return stages


def _evaluated(
    experiment: Experiment, shared: SharedStages, candidate: Candidate, pretrained: Stage, run: FineTuningRun
) -> Stage:
    """Return the stage that evaluates a pretrained candidate on a task, by the task's method."""
    sources = {"pretrained": pretrained, "examples": shared.examples[run.task]}
    frozen = frozen_evaluation(experiment, candidate, run.task, sources, shared.tokens)
    return frozen or Stage(_fine_tune(run.settings, candidate, run.task, run.seed), sources)


def _token_marks(experiment: Experiment) -> tuple[int, ...]:
    return (*experiment.pretraining.hurdle.rung_tokens, experiment.pretraining.tokens)


def _corpus_stage(corpus: Corpus) -> Stage:
    return Stage(CorpusStage(corpus=corpus, read=corpus.inputs()))


def _every_examples(experiment: Experiment, documents: Stage, tokens: Stage) -> dict[str, Stage]:
    tasks = tasks_of(experiment)
    found = answers(partial(_examples, experiment, task, documents, tokens) for task in tasks)
    return dict(zip(tasks, found, strict=True))


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
    told = examples.declaration
    assert isinstance(told, ExamplesStage)
    source = {"documents": examples.inputs["corpus"]} if "corpus" in examples.inputs else {}
    asked = {name: getattr(told, name) for name in ContaminationStage.model_fields}
    return Stage(ContaminationStage(**asked), {"corpus": corpus, **source})


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
    whole = candidate.recipe.steps(settings.tokens)
    points = {max(1, whole * point // settings.evaluations) for point in range(1, settings.evaluations + 1)}
    return PretrainStage(
        candidate=candidate.model_copy(update={"recipe": candidate.recipe.before_long_sequences}),
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=steps[0],
        to_step=steps[1],
        evaluation_steps=tuple(sorted({point for point in points if steps[0] < point <= steps[1]} | {steps[1]})),
        horizon_tokens=candidate.recipe.schedule.horizon(whole * candidate.recipe.tokens_per_step),
    )


def _needs_long_sequences(candidate: Candidate, task: str) -> bool:
    return candidate.recipe.long_sequence_share > 0 and find_task(task).long_sequences


def _long_sequence_phase(experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> PretrainStage:
    """Return the further updates as what they are: pretraining of the same candidate at another length."""
    to_step = from_step + candidate.recipe.long_sequence_updates(from_step)
    longer = candidate.model_copy(update={"recipe": candidate.recipe.of_long_sequences})
    return PretrainStage(
        candidate=longer,
        generator=longer.objective.generator_of(longer.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=from_step,
        to_step=to_step,
        evaluation_steps=(to_step,),
        horizon_tokens=longer.recipe.schedule.horizon(to_step * longer.recipe.tokens_per_step),
    )


def _start(experiment: Experiment) -> InitialCheckpoint | None:
    if experiment.pretraining.init_checkpoint is None:
        return None
    start = read_initial_checkpoint(Path(experiment.pretraining.init_checkpoint))
    start.verify(WEIGHTS)  # once, before anything is made
    return start


def _begun(declaration: PretrainStage, start: InitialCheckpoint | None) -> PretrainStage:
    """Return a trial's first stage as it begins: from the start's weights where there is one."""
    if start is None:
        return declaration
    return declaration.model_copy(
        update={"init_checkpoint": str(start.folder), "init_checkpoint_weights": start.weights_hash}
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


def _fine_tune(tuning: FineTuning, candidate: Candidate, task: str, seed: int) -> FineTuneStage:
    return FineTuneStage(
        architecture=candidate.architecture,
        device=candidate.recipe.device,
        precision=candidate.recipe.precision,
        task=task,
        seed=seed,
        **tuning.training,
    )


def kind_of(label: str, stage: Stage) -> str:
    """Return what the ledger calls a stage.

    A fine-tuning that only a hurdle looks at is a probe, and pretraining at the longer length is no pretraining: what
    a table of pretraining is about ends before it.
    """
    kind = StageLabel.parse(label).kind
    return kind if kind in (PROBE, LONG_SEQUENCE_PHASE) else stage.kind
