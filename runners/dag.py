"""The stages of an experiment, with their labels and inputs, as a directed acyclic graph. Pure; without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from runners.evaluation_set_stages import evaluation_set_stage, other_evaluation_sets
from runners.frozen_evaluations import frozen_evaluation, untrained_stages
from runners.initial_checkpoints import begun_from, initial_checkpoints, initial_encoder
from runners.measurement_stages import measurement
from runners.missing_data import collected, refuse_missing, refuse_other_lexicon, tasks_of
from runners.pretraining_stages import long_sequence_phase, pretraining, pruning
from runners.rare_word_stages import word_embeddings_declaration, word_embeddings_label
from runners.stage_labels import (
    hurdle_labels,
    measure_labels,
    needs_long_sequence_phase,
    pretrain_labels,
    pretraining_tokens,
)
from runners.stages.declarations import (
    ContaminationStage,
    CorpusStage,
    ExamplesStage,
    FineTuneStage,
    TokensStage,
)
from runners.stages.measurement_declarations import ZeroCostStage
from runners.stages.stage import Stage
from runners.task_sources import limited, task_source
from search_space.candidate import Candidate
from search_space.objective import LanguageModel, Objective
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.experiment_objectives import objectives_of
from steeplechase.configuration.fine_tuning_runs import FineTuningRun, fine_tuning_runs, settings_of
from steeplechase.configuration.hurdles import ZeroCost
from steeplechase.configuration.initial_checkpoint import InitialCheckpoint
from steeplechase.configuration.stage_label import LONG_SEQUENCE_PHASE, PROBE, UNPRUNED, StageLabel
from steeplechase.configuration.text_generation import TextGeneration
from steeplechase.tasks.corpora.corpus import Corpus


@dataclass(frozen=True)
class SharedStages:
    """The stages that are inputs of all trials."""

    corpus: Stage
    tokens: Stage
    evaluation_set: Stage
    examples: Mapping[str, Stage]
    """By task."""
    other_corpora: tuple[Stage, ...] = ()
    """The corpora that tasks are built from, apart from the pretraining corpus."""
    contaminations: Mapping[str, Stage] = field(default_factory=dict)
    """By task: the overlap of its dev set with the pretraining text."""
    untrained: Mapping[str, Stage] = field(default_factory=dict)
    """By label: untrained encoders, and their evaluation on every task."""
    other_evaluation_sets: Mapping[str, Stage] = field(default_factory=dict)
    """By the evaluation of the objectives that measure another held-out loss than the baseline's."""
    initial_checkpoints: Mapping[str, InitialCheckpoint] = field(default_factory=dict)
    """By folder: verified initial weights; an arm without any is initialised from the seed."""
    pretrains: bool = True
    """Whether there is any pretraining, which alone reads an evaluation set."""

    def named(self) -> dict[str, Stage]:
        """Return every stage by label, in topological order."""
        other_corpora = {
            str(StageLabel("corpus", number=number)): stage for number, stage in enumerate(self.other_corpora, 1)
        }
        examples = {str(StageLabel("examples", task=task)): stage for task, stage in self.examples.items()}
        contaminations = {
            str(StageLabel("contamination", task=task)): stage for task, stage in self.contaminations.items()
        }
        data = {"corpus": self.corpus, **other_corpora, "tokens": self.tokens, **examples}
        others = {str(StageLabel("evaluation_set", task=kind)): s for kind, s in self.other_evaluation_sets.items()}
        held_out = {"evaluation_set": self.evaluation_set, **others} if self.pretrains else {}
        return {**data, **contaminations, **held_out, **self.untrained}

    def evaluation_set_of(self, objective: Objective) -> Stage:
        """Return the evaluation set that an objective's held-out loss is measured on."""
        return self.other_evaluation_sets.get(objective.evaluation, self.evaluation_set)


def shared_stages(experiment: Experiment) -> SharedStages:
    """Return the stages that are inputs of every trial.

    Raises DataError with all missing sources: corpora, vocabulary, files of every task.
    """
    refuse_missing(experiment)
    refuse_other_lexicon(experiment)
    architecture = experiment.baseline.architecture
    corpus = _corpus_stage(experiment.corpus)
    tokens_declaration = TokensStage(
        tokenizer=experiment.tokenizer,
        read=experiment.tokenizer.inputs(),
        vocabulary_size=architecture.vocabulary_size,
        sentences=any(objective.packing.reads_sentences for objective in objectives_of(experiment)),
        lexicon=experiment.lexicon,
        lexicon_read=None if experiment.lexicon is None else experiment.lexicon.inputs(),
        mentions=experiment.mentions,
        mentions_read=None if experiment.mentions is None else experiment.mentions.inputs(),
    )
    tokens = Stage(tokens_declaration, {"corpus": corpus})
    task_corpus = experiment.fine_tuning.corpus
    documents = corpus if task_corpus in (None, experiment.corpus) else _corpus_stage(task_corpus)
    examples = _examples_by_task(experiment, documents, tokens)
    contaminations = {
        task: _contamination_stage(stage, corpus) for task, stage in examples.items() if experiment.pretrains
    }
    reads_documents = any("corpus" in stage.inputs for stage in examples.values())
    other_corpora = (documents,) if reads_documents and documents is not corpus else ()
    evaluation_set = evaluation_set_stage(experiment, tokens, None)
    shared = SharedStages(
        corpus,
        tokens,
        evaluation_set,
        examples,
        other_corpora,
        contaminations,
        other_evaluation_sets=other_evaluation_sets(experiment, tokens),
        initial_checkpoints=initial_checkpoints(experiment),
        pretrains=experiment.pretrains,
    )
    return replace(shared, untrained=untrained_stages(experiment, tokens, partial(_task_stage, experiment, shared)))


def trial_stages(experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int) -> dict[str, Stage]:
    """Return the stages of one candidate at one pretraining seed by label, in topological order."""
    stages = _pretraining_stages(experiment, shared, candidate, seed)
    pretrained = stages[pretrain_labels(experiment)[-1]]
    for label in measure_labels(experiment):
        sources = {"pretrained": pretrained, "tokens": shared.tokens}
        stages[label] = Stage(measurement(experiment, candidate, StageLabel.parse(label), seed), sources)
    for run in sorted(
        fine_tuning_runs(experiment.fine_tuning),
        key=lambda run: (
            needs_long_sequence_phase(experiment, candidate, run.task),
            word_embeddings_label(experiment, run.task) is not None,
        ),
    ):
        if needs_long_sequence_phase(experiment, candidate, run.task) and LONG_SEQUENCE_PHASE not in stages:
            last_step = candidate.recipe.steps(experiment.pretraining.tokens)
            declaration = long_sequence_phase(experiment, candidate, seed, last_step)
            inputs = {**_inputs(shared, candidate), "previous": pretrained}
            pretrained = stages[LONG_SEQUENCE_PHASE] = Stage(declaration, inputs)
        words = word_embeddings_label(experiment, run.task)
        if words is not None and words not in stages:
            stages[words] = _word_embeddings(experiment, shared, candidate, pretrained, seed, run.task)
        word_embeddings = None if words is None else stages[words]
        stages[run.label] = _task_stage(experiment, shared, candidate, pretrained, seed, run, word_embeddings)
    return stages


def _pretraining_stages(
    experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int
) -> dict[str, Stage]:
    """Return a trial's stages up to its pretrained encoder, the last one, by label, with the hurdles' probes."""
    stages: dict[str, Stage] = {}
    checkpoint = shared.initial_checkpoints.get(experiment.initial_checkpoint(candidate) or "")
    if not experiment.pretrains:
        assert checkpoint is not None
        return {pretrain_labels(experiment)[-1]: initial_encoder(experiment, candidate, checkpoint)}
    inputs = _inputs(shared, candidate)
    hurdle = experiment.pretraining.hurdle
    if isinstance(hurdle, ZeroCost):
        generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
        untrained = ZeroCostStage(candidate=candidate.pretrained, generator=generator, seed=seed, proxy=hurdle.proxy)
        stages[hurdle_labels(experiment)[0]] = Stage(untrained, {"tokens": shared.tokens})
    last_step = 0
    pretrained: Stage | None = None
    for label, tokens in zip(pretrain_labels(experiment), pretraining_tokens(experiment), strict=True):
        step = candidate.recipe.steps(tokens)
        previous = {"previous": pretrained} if pretrained else {}
        declaration = pretraining(experiment, candidate, seed, (last_step, step))
        if not previous:
            declaration = begun_from(declaration, checkpoint)
        pretrained = Stage(declaration, {**inputs, **previous})
        if candidate.recipe.pruning is not None and label == pretrain_labels(experiment)[-1]:
            stages[UNPRUNED] = pretrained
            declaration = pruning(experiment, candidate, seed, step)
            pretrained = Stage(declaration, {**inputs, "previous": pretrained})
        stages[label], last_step = pretrained, step
        probe = hurdle.probe
        if probe is not None and (name := str(StageLabel(PROBE, tokens))) in hurdle_labels(experiment):
            settings = settings_of(experiment.fine_tuning, probe.task)
            run = FineTuningRun(probe.task, probe.seed, settings, {}, None)
            stages[name] = _task_stage(experiment, shared, candidate, pretrained, seed, run)
    return stages


def _inputs(shared: SharedStages, candidate: Candidate) -> dict[str, Stage]:
    return {"tokens": shared.tokens, "evaluation_set": shared.evaluation_set_of(candidate.objective)}


def _word_embeddings(
    experiment: Experiment, shared: SharedStages, candidate: Candidate, pretrained: Stage, seed: int, task: str
) -> Stage:
    """Return the stage of the embeddings of a task's rare words."""
    declaration = word_embeddings_declaration(experiment, candidate, task, seed)
    return Stage(declaration, {"pretrained": pretrained, "tokens": shared.tokens, "examples": shared.examples[task]})


def _task_stage(
    experiment: Experiment,
    shared: SharedStages,
    candidate: Candidate,
    pretrained: Stage,
    pretraining_seed: int,
    run: FineTuningRun,
    word_embeddings: Stage | None = None,
) -> Stage:
    """Return the stage that evaluates a pretrained candidate on a task, by the task's method."""
    run = replace(run, settings=run.settings.model_copy(update=candidate.fine_tuning.values))
    sources = {"pretrained": pretrained, "examples": shared.examples[run.task]}
    frozen = frozen_evaluation(experiment, candidate, run.task, sources, shared.tokens)
    if frozen is not None:
        return frozen
    examples = sources["examples"].declaration
    assert isinstance(examples, ExamplesStage)
    declaration = _fine_tune_declaration(run, candidate, pretraining_seed)
    if experiment.fine_tuning.find(run.task).form == "text_pair":
        regularisation = {name: getattr(candidate.recipe, name) for name in ("dropout", "label_smoothing")}
        if declaration.generation.label_smoothing is not None:
            regularisation["label_smoothing"] = declaration.generation.label_smoothing
        declaration = declaration.model_copy(update=regularisation)
        sources["tokens"] = shared.tokens  # whose vocabulary turns generated tokens into text
    if word_embeddings is not None:
        sources["word_embeddings"] = word_embeddings
    return Stage(declaration.model_copy(update={"own_task": examples.own_task}), sources)


def _corpus_stage(corpus: Corpus) -> Stage:
    return Stage(CorpusStage(corpus=corpus, read=corpus.inputs()))


def _examples_by_task(experiment: Experiment, documents: Stage, tokens: Stage) -> dict[str, Stage]:
    tasks = tasks_of(experiment)
    stages = collected(partial(_examples_stage, experiment, task, documents, tokens) for task in tasks)
    return dict(zip(tasks, stages, strict=True))


def _examples_stage(experiment: Experiment, name: str, documents: Stage, tokens: Stage) -> Stage:
    settings, source = settings_of(experiment.fine_tuning, name), task_source(experiment.fine_tuning, name)
    task, data = source.task, source.data
    declaration = ExamplesStage(
        task=name,
        task_version=task.version,
        train_examples=limited(source, "train", settings.train_examples),
        dev_examples=limited(source, "dev", settings.dev_examples),
        sequence_length=settings.sequence_length,
        data=data,
        read=data.inputs(task.files) if data and task.files else None,
        swap_pairs=settings.swap_pairs and task.unordered,
        own_task=source.own_task,
        synonyms=source.synonyms,
        synonyms_read=None if source.synonyms is None else source.synonyms.inputs(),
        **(_source_vocabulary(experiment, settings.generation) if task.form == "text_pair" else {}),
    )
    return Stage(declaration, {"tokens": tokens} if task.files else {"corpus": documents, "tokens": tokens})


def _source_vocabulary(experiment: Experiment, generation: TextGeneration) -> dict[str, Any]:
    """Return the fields of examples whose sources have a vocabulary of their own; none if they have not."""
    new = generation.source_encoder
    if new is None or new.vocabulary_size is None:
        return {}
    tokenizer = new.tokenizer or experiment.tokenizer
    read = {"source_tokenizer": tokenizer, "source_tokenizer_read": tokenizer.inputs()}
    return {**read, "source_vocabulary_size": new.vocabulary_size}


def _contamination_stage(examples: Stage, corpus: Stage) -> Stage:
    declaration = examples.declaration
    assert isinstance(declaration, ExamplesStage)
    source = {"documents": examples.inputs["corpus"]} if "corpus" in examples.inputs else {}
    fields = {name: getattr(declaration, name) for name in ContaminationStage.model_fields}
    return Stage(ContaminationStage(**fields), {"corpus": corpus, **source})


def _fine_tune_declaration(run: FineTuningRun, candidate: Candidate, pretraining_seed: int) -> FineTuneStage:
    objective, weight = candidate.objective, run.settings.language_model_weight
    return FineTuneStage(
        output_layer=objective.output_layer if weight and isinstance(objective, LanguageModel) else None,
        architecture=candidate.architecture,
        device=candidate.recipe.device,
        precision=candidate.recipe.precision,
        task=run.task,
        pretraining_seed=pretraining_seed,
        seed=run.seed,
        **run.settings.training,
    )
