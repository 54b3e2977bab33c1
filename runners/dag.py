"""The stages of an experiment, with their labels and inputs, as a directed acyclic graph. Pure; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from runners.metric_trials import refuse_failing_metrics
from runners.missing_data import at_setting, collected, refuse_missing, refuse_other_lexicon, tasks_of
from runners.stage_labels import hurdle_labels, needs_long_sequence_phase, pretrain_labels
from runners.stages.contamination import ContaminationStage
from runners.stages.corpus import CorpusStage
from runners.stages.evaluation_set import EvaluationSetStage
from runners.stages.examples import ExamplesStage
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import ArmsMeasurementStage, MeasurementStage, Stage, TaskStage, stage_class
from runners.stages.tokens import TokensStage
from runners.stages.untrained import UntrainedStage
from runners.stages.word_embeddings import WordEmbeddingsStage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment, objectives_of
from steeplechase.configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs, settings_of
from steeplechase.configuration.initial_checkpoint import WEIGHTS, InitialCheckpoint, read_initial_checkpoint
from steeplechase.configuration.stage_label import CORPUS, LONG_SEQUENCE_PHASE, PROBE, UNPRUNED, UNTRAINED, StageLabel
from steeplechase.tasks.data_folder import resolved

TOKENS, EXAMPLES, EVALUATION_SET = "tokens", "examples", "evaluation_set"
SEED_OF_HEADS = 0
"""Of the heads of an encoder that is not pretrained: no fine-tuning reads them, so that all seeds share one stage."""


@dataclass(frozen=True)
class SharedStages:
    """The stages outside trials: the inputs of all trials, and references that have none."""

    by_label: Mapping[str, Stage]
    """In topological order."""
    initial_checkpoints: Mapping[str, InitialCheckpoint] = field(default_factory=dict)
    """By folder: verified initial weights; an arm without any is initialised from the seed."""

    @property
    def corpus(self) -> Stage:
        """The pretraining text."""
        return self.by_label[CORPUS]

    @property
    def tokens(self) -> Stage:
        """The vocabulary and the pretraining text as tokens."""
        return self.by_label[TOKENS]

    @property
    def evaluation_set(self) -> Stage:
        """The held-out set of the baseline's objective; there is none without pretraining."""
        return self.by_label[EVALUATION_SET]

    @cached_property
    def examples(self) -> Mapping[str, Stage]:
        """The examples by task, in the experiment's vocabulary."""
        labels = ((StageLabel.parse(label), stage) for label, stage in self.by_label.items())
        return {str(label.task): stage for label, stage in labels if label.kind == EXAMPLES and label.data is None}

    @cached_property
    def untrained(self) -> Mapping[str, Stage]:
        """By label: untrained encoders, and their evaluation on every task."""
        return {label: stage for label, stage in self.by_label.items() if StageLabel.parse(label).kind == UNTRAINED}

    def of_trial(self, experiment: Experiment, candidate: Candidate, seed: int) -> dict[str, Stage]:
        """Return the stages of one candidate at one pretraining seed by label, in topological order."""
        return trial_stages(experiment, self, candidate, seed)

    def evaluation_set_of(self, candidate: Candidate) -> Stage:
        """Return the evaluation set that a candidate's held-out loss is measured on."""
        of_objective = StageLabel(EVALUATION_SET, task=candidate.objective.evaluation)
        return self._of_data(candidate, of_objective, StageLabel(EVALUATION_SET))

    def tokens_of(self, candidate: Candidate) -> Stage:
        """Return a candidate's vocabulary and text as tokens."""
        return self._of_data(candidate, StageLabel(TOKENS))

    def examples_of(self, candidate: Candidate, task: str) -> Stage:
        """Return the examples of a task in a candidate's vocabulary."""
        return self._of_data(candidate, StageLabel(EXAMPLES, task=task))

    def _of_data(self, candidate: Candidate, *labels: StageLabel) -> Stage:
        """Return the first stage of some labels that there is: of the candidate's data, else of the experiment."""
        own = [replace(label, data=candidate.data) for label in labels]
        return next(self.by_label[name] for label in (*own, *labels) if (name := str(label)) in self.by_label)


def shared_stages(experiment: Experiment) -> SharedStages:
    """Return the stages that are inputs of every trial.

    Raises DataError with all missing sources: corpora, vocabulary, files of every task.
    """
    if not experiment.has_trials:
        return SharedStages({})
    refuse_missing(experiment)
    refuse_other_lexicon(experiment)
    corpus = at_setting("corpus", partial(CorpusStage.of, experiment.corpus))
    tokens = TokensStage.of(experiment, corpus)
    own, tasks = experiment.fine_tuning.corpus or experiment.corpus, tasks_of(experiment)
    documents = at_setting("fine_tuning.corpus", partial(CorpusStage.of, own)) if own != experiment.corpus else corpus
    found = collected(partial(ExamplesStage.of, experiment, task, documents, tokens) for task in tasks)
    refuse_failing_metrics(experiment.fine_tuning)
    examples = dict(zip(tasks, found, strict=True))
    stages = {CORPUS: corpus}
    if documents is not corpus and any(CORPUS in stage.inputs for stage in found):
        stages[str(StageLabel(CORPUS, number=1))] = documents
    stages[TOKENS] = tokens
    stages |= {str(StageLabel(EXAMPLES, task=task)): stage for task, stage in examples.items()}
    if experiment.pretrains:
        stages |= _contaminations(examples, corpus)
        stages |= _evaluation_sets(experiment, tokens)
        for name in experiment.data:
            for label, stage in _stages_of_data(experiment, name, SharedStages(stages), documents).items():
                stages[str(replace(StageLabel.parse(label), data=name))] = stage
    shared = SharedStages(stages, initial_checkpoints(experiment))
    return SharedStages({**stages, **_untrained(experiment, shared)}, shared.initial_checkpoints)


def with_measurements_of_arms(experiment: Experiment, shared: SharedStages) -> SharedStages:
    """Return the shared stages with those that measure all arms together, on this machine. Raises MachineError."""
    stages = {**shared.by_label}
    for measurement in experiment.measure.of_arms:
        kind = stage_class(measurement.stage)
        assert issubclass(kind, ArmsMeasurementStage)
        stages |= kind.by_label(experiment)
    return replace(shared, by_label=stages)


def _stages_of_data(experiment: Experiment, name: str, shared: SharedStages, documents: Stage) -> dict[str, Stage]:
    """Return the stages of a text and vocabulary of some arms; of tasks only what differs from the experiment's."""
    data, at = experiment.data[name], partial(at_setting, f"data.{name}.corpus")
    corpus = shared.corpus if data.corpus is None else at(partial(CorpusStage.of, data.corpus))
    tokens = TokensStage.of_data(experiment, data, corpus, {"held_out": shared.corpus, "vocabulary": shared.tokens})
    stages = {TOKENS: tokens} if data.corpus is None else {CORPUS: corpus, TOKENS: tokens}
    if data.corpus is not None:
        stages |= _contaminations(shared.examples, corpus)
    if data.tokenizer is not None:
        for task in tasks_of(experiment):
            stages[str(StageLabel(EXAMPLES, task=task))] = ExamplesStage.of(experiment, task, documents, tokens)
        stages |= _evaluation_sets(experiment, tokens)
    return stages


def _contaminations(examples: Mapping[str, Stage], corpus: Stage) -> dict[str, Stage]:
    """Return the stages that look for the examples of each task in a training text."""
    return {
        str(StageLabel(ContaminationStage.stage, task=task)): ContaminationStage.of(stage, corpus)
        for task, stage in examples.items()
    }


def _evaluation_sets(experiment: Experiment, tokens: Stage) -> dict[str, Stage]:
    """Return the held-out set of the baseline's objective, and those of arms that measure another held-out loss.

    The first arm of each such objective declares it.
    """
    stages = {EVALUATION_SET: EvaluationSetStage.of(experiment, tokens)}
    for objective in objectives_of(experiment):
        label = str(StageLabel(EVALUATION_SET, task=objective.evaluation))
        if not objective.measured_on(experiment.baseline.objective.evaluation) and label not in stages:
            stages[label] = EvaluationSetStage.of(experiment, tokens, objective)
    return stages


def _untrained(experiment: Experiment, shared: SharedStages) -> dict[str, Stage]:
    """Return the untrained encoders of the baseline and their evaluation on every task, by label.

    Both seeds of a fine-tuning are the encoder's; settings are those without a search. An encoder with supersense
    embeddings reads the supersenses of the vocabulary from `tokens`.
    """
    stages: dict[str, Stage] = {}
    tuning, candidate = experiment.fine_tuning, experiment.baseline
    sources = {TOKENS: shared.tokens} if candidate.architecture.supersenses else {}
    for seed in tuning.untrained_seeds if tuning.tasks else ():
        encoder = UntrainedStage.of(experiment, candidate, seed, sources=sources)
        stages[str(StageLabel(UNTRAINED, number=seed))] = encoder
        for task in sorted(tuning.tasks):
            run = FineTuningRun(task, seed, settings_of(tuning, task), {}, None)
            label = str(StageLabel(UNTRAINED, task=task, seed=seed))
            stages[label] = _task_stage(experiment, shared, candidate, {"pretrained": encoder}, seed, run)
    return stages


def initial_checkpoints(experiment: Experiment) -> dict[str, InitialCheckpoint]:
    """Return the initial checkpoints of all arms by folder, verified before the run creates a folder.

    Raises MachineError for a missing one, CorruptionError for a file that differs from the imported one.
    """
    candidates = (experiment.baseline, *(arm.candidate for arm in experiment.arms))
    folders = dict.fromkeys(filter(None, map(experiment.initial_checkpoint, candidates)))
    found = {folder: read_initial_checkpoint(resolved(folder)) for folder in folders}
    for checkpoint in found.values():
        checkpoint.verify(WEIGHTS)
    return found


def trial_stages(experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int) -> dict[str, Stage]:
    """Return the stages of one candidate at one pretraining seed by label, in topological order."""
    stages = _pretraining_stages(experiment, shared, candidate, seed)
    pretrained = stages[pretrain_labels(experiment)[-1]]
    stages |= _measurements(
        experiment, candidate, seed, {"pretrained": pretrained, TOKENS: shared.tokens_of(candidate)}
    )
    for run in sorted(
        fine_tuning_runs(experiment.fine_tuning),
        key=lambda run: (
            needs_long_sequence_phase(experiment, candidate, run.task),
            WordEmbeddingsStage.label(experiment, run.task) is not None,
        ),
    ):
        if needs_long_sequence_phase(experiment, candidate, run.task) and LONG_SEQUENCE_PHASE not in stages:
            last_step = candidate.recipe.steps(experiment.pretraining.tokens)
            declaration = PretrainStage.of_long_sequences(experiment, candidate, seed, last_step)
            inputs = {**_inputs(shared, candidate), "previous": pretrained}
            pretrained = stages[LONG_SEQUENCE_PHASE] = Stage(declaration, inputs)
        sources = {"pretrained": pretrained}
        if (words := WordEmbeddingsStage.label(experiment, run.task)) is not None:
            if words not in stages:
                embedding = WordEmbeddingsStage.of(experiment, candidate, run.task, seed)
                read = {
                    "pretrained": pretrained,
                    TOKENS: shared.tokens,
                    EXAMPLES: shared.examples_of(candidate, run.task),
                }
                stages[words] = Stage(embedding, read)
            sources["word_embeddings"] = stages[words]
        stages[run.label] = _task_stage(experiment, shared, candidate, sources, seed, run)
    return stages


def _measurements(
    experiment: Experiment, candidate: Candidate, seed: int, sources: Mapping[str, Stage]
) -> dict[str, Stage]:
    """Return the stages that measure a trained model, by label."""
    stages: dict[str, Stage] = {}
    for measurement in experiment.measure.of_trials:
        kind = stage_class(measurement.stage)
        assert issubclass(kind, MeasurementStage)
        for name in measurement.names:
            declaration = kind.of(experiment, candidate, name, seed)
            stages[str(StageLabel(kind.stage, task=name))] = Stage(declaration, sources)
    return stages


def _pretraining_stages(
    experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int
) -> dict[str, Stage]:
    """Return a trial's stages up to its pretrained encoder, the last one, by label, with the hurdles' probes."""
    stages: dict[str, Stage] = {}
    checkpoint = shared.initial_checkpoints.get(experiment.initial_checkpoint(candidate) or "")
    if not experiment.pretrains:
        assert checkpoint is not None
        encoder = UntrainedStage.of(experiment, candidate, SEED_OF_HEADS, checkpoint)
        return {pretrain_labels(experiment)[-1]: encoder}
    inputs = _inputs(shared, candidate)
    hurdle = experiment.pretraining.hurdle
    last_step = 0
    pretrained: Stage | None = None
    for label, tokens in zip(pretrain_labels(experiment), experiment.pretraining.stage_ends, strict=True):
        step = candidate.recipe.steps(tokens)
        previous = {"previous": pretrained} if pretrained else {}
        declaration = PretrainStage.up_to(experiment, candidate, seed, (last_step, step))
        if not previous:
            declaration = declaration.begun_from(checkpoint)
        pretrained = Stage(declaration, {**inputs, **previous})
        if candidate.recipe.pruning is not None and label == pretrain_labels(experiment)[-1]:
            stages[UNPRUNED] = pretrained
            declaration = PretrainStage.of_pruning(experiment, candidate, seed, step)
            pretrained = Stage(declaration, {**inputs, "previous": pretrained})
        stages[label], last_step = pretrained, step
        probe = hurdle.rung_probe
        if probe is not None and (name := str(StageLabel(PROBE, tokens))) in hurdle_labels(experiment):
            settings = settings_of(experiment.fine_tuning, probe.task)
            run = FineTuningRun(probe.task, probe.seed, settings, {}, None)
            stages[name] = _task_stage(experiment, shared, candidate, {"pretrained": pretrained}, seed, run)
    return stages


def _inputs(shared: SharedStages, candidate: Candidate) -> dict[str, Stage]:
    return {TOKENS: shared.tokens_of(candidate), EVALUATION_SET: shared.evaluation_set_of(candidate)}


def _task_stage(
    experiment: Experiment,
    shared: SharedStages,
    candidate: Candidate,
    pretrained: Mapping[str, Stage],
    seed: int,
    run: FineTuningRun,
) -> Stage:
    """Return the stage that evaluates a pretrained candidate on a task, by the task's method."""
    kind = stage_class(experiment.fine_tuning.find(run.task).method)
    assert issubclass(kind, TaskStage)
    sources = {**pretrained, EXAMPLES: shared.examples_of(candidate, run.task), TOKENS: shared.tokens_of(candidate)}
    return kind.of(experiment, candidate, seed, run, sources)
