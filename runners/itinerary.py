"""From an experiment to its stages: which work a table needs, in which order, under which names. Pure, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.experiment import Experiment
from runners.measures import ATTENTION
from runners.stages.declarations import (
    AttentionStage,
    CorpusStage,
    ExamplesStage,
    FineTuneStage,
    PretrainStage,
    QuestionsStage,
    TokensStage,
)
from runners.stages.stage import Stage
from runners.start import WEIGHTS, Start, read_start
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel
from tasks.corpora.corpus import Corpus
from tasks.downstream import find_task


@dataclass(frozen=True)
class SharedStages:
    """The stages that all trials of an experiment read."""

    corpus: Stage
    tokens: Stage
    questions: Stage
    examples: Mapping[str, Stage]
    """By task."""
    other_corpora: tuple[Stage, ...] = ()
    """Where the tasks' documents come from, when that is not the pretraining corpus."""
    start: Start | None = None
    """What every encoder begins from, its weights verified; they are drawn from the seed where there is none."""

    def named(self) -> dict[str, Stage]:
        """Return every stage by its label, the earliest first."""
        others = {f"corpus for tasks {number}": stage for number, stage in enumerate(self.other_corpora, 1)}
        examples = {f"examples {task}": stage for task, stage in self.examples.items()}
        return {"corpus": self.corpus, **others, "tokens": self.tokens, **examples, "questions": self.questions}


def shared_stages(experiment: Experiment) -> SharedStages:
    """Return the stages that come before any trial."""
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
    examples = {
        task: Stage(_examples(experiment, task), {"corpus": documents, "tokens": tokens})
        for task in _asked_tasks(experiment)
    }
    others = () if documents is corpus or not examples else (documents,)
    return SharedStages(corpus, tokens, _questions(experiment, tokens), examples, others, _start(experiment))


def pretrain_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the pretraining stages of a trial, one per hurdle and one to the end."""
    return tuple(f"pretrain@{tokens}" for tokens in _token_marks(experiment))


def judged_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the stages that the hurdles look at: probes where there are some, else pretraining."""
    hurdle = experiment.pretraining.hurdle
    return tuple(f"{'probe' if hurdle.probe else 'pretrain'}@{tokens}" for tokens in hurdle.token_marks)


def fine_tune_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the fine-tuning stages of a trial."""
    tuning = experiment.fine_tuning
    return tuple(f"{task}#{seed}" for task in sorted(tuning.tasks) for seed in tuning.seeds)


def measure_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the stages that describe a trained model."""
    return () if experiment.measure.attention_diagonal is None else (ATTENTION,)


def trial_stages(experiment: Experiment, shared: SharedStages, candidate: Candidate, seed: int) -> dict[str, Stage]:
    """Return the stages of one candidate at one pretraining seed by label, in order."""
    stages: dict[str, Stage] = {}
    inputs = {"tokens": shared.tokens, "questions": shared.questions}
    last_step = 0
    pretrained: Stage | None = None
    for label, tokens in zip(pretrain_labels(experiment), _token_marks(experiment), strict=True):
        step = candidate.recipe.steps(tokens)
        before = {"previous": pretrained} if pretrained else {}
        declaration = _pretrain(experiment, candidate, seed, (last_step, step))
        pretrained = Stage(declaration if before else _begun(declaration, shared.start), {**inputs, **before})
        stages[label], last_step = pretrained, step
        probe = experiment.pretraining.hurdle.probe
        if probe is not None and (name := f"probe@{tokens}") in judged_labels(experiment):
            taught = _fine_tune(experiment, candidate, probe.task, probe.seed)
            stages[name] = Stage(taught, {"pretrained": pretrained, "examples": shared.examples[probe.task]})
    assert pretrained is not None
    for task in sorted(experiment.fine_tuning.tasks):
        for fine_tuning_seed in experiment.fine_tuning.seeds:
            taught = _fine_tune(experiment, candidate, task, fine_tuning_seed)
            sources = {"pretrained": pretrained, "examples": shared.examples[task]}
            stages[f"{task}#{fine_tuning_seed}"] = Stage(taught, sources)
    for label in measure_labels(experiment):
        looked = _attention(experiment, candidate)
        stages[label] = Stage(looked, {"pretrained": pretrained, "tokens": shared.tokens})
    return stages


def _asked_tasks(experiment: Experiment) -> tuple[str, ...]:
    tasks, probe = experiment.fine_tuning.tasks, experiment.pretraining.hurdle.probe
    return tasks if probe is None or probe.task in tasks else (*tasks, probe.task)


def _token_marks(experiment: Experiment) -> tuple[int, ...]:
    return (*experiment.pretraining.hurdle.token_marks, experiment.pretraining.tokens)


def _corpus_stage(corpus: Corpus) -> Stage:
    return Stage(CorpusStage(corpus=corpus, read=corpus.inputs()))


def _examples(experiment: Experiment, task: str) -> ExamplesStage:
    tuning = experiment.fine_tuning
    return ExamplesStage(
        task=task,
        task_version=find_task(task).version,
        train_examples=tuning.train_examples,
        dev_examples=tuning.dev_examples,
        sequence_length=tuning.sequence_length,
    )


def _questions(experiment: Experiment, tokens: Stage) -> Stage:
    baseline = experiment.baseline
    generator = baseline.objective.generator_of(baseline.architecture, baseline.architecture)
    masking = baseline.objective.model_dump(include={"mask_rate", "covered_share", "random_share"})
    reference = baseline.model_copy(update={"objective": MaskedLanguageModel(**masking)})
    if generator is not None:
        reference = reference.model_copy(update={"architecture": generator})
    declaration = QuestionsStage(
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
        candidate=candidate,
        generator=candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture),
        seed=seed,
        from_step=steps[0],
        to_step=steps[1],
        evaluation_steps=tuple(sorted({point for point in points if steps[0] < point <= steps[1]} | {steps[1]})),
        horizon_tokens=candidate.recipe.schedule.horizon(whole * candidate.recipe.tokens_per_step),
    )


def _start(experiment: Experiment) -> Start | None:
    if experiment.pretraining.start is None:
        return None
    start = read_start(Path(experiment.pretraining.start))
    start.verify(WEIGHTS)  # once, before anything is made
    return start


def _begun(declaration: PretrainStage, start: Start | None) -> PretrainStage:
    """Return a trial's first stage as it begins: from the start's weights where there is one."""
    if start is None:
        return declaration
    return declaration.model_copy(update={"start": str(start.folder), "start_weights": start.weights_hash})


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


def _fine_tune(experiment: Experiment, candidate: Candidate, task: str, seed: int) -> FineTuneStage:
    tuning = experiment.fine_tuning
    return FineTuneStage(
        architecture=candidate.architecture,
        device=candidate.recipe.device,
        precision=candidate.recipe.precision,
        task=task,
        seed=seed,
        epochs=tuning.epochs,
        batch_examples=tuning.batch_examples,
        peak_learning_rate=tuning.peak_learning_rate,
        warmup_share=tuning.warmup_share,
        pooling=tuning.pooling,
        weight_decay=tuning.weight_decay,
        dropout=tuning.dropout,
    )
