"""Validation rules of `fine_tuning.generation.source_encoder`: what tasks, arms and tokenizers it needs."""

from collections.abc import Iterator

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning, SourceEncoder
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.foundation.errors import Violation

Location = tuple[str, ...]
FIELD = ("generation", "source_encoder")


def source_encoder_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield tasks without sources to encode, arms that cannot have the encoder, and settings that contradict."""
    arms = {arm.name: arm.candidate.architecture for arm in experiment.accepted_arms}
    tuning = experiment.fine_tuning
    yield from _without_texts(tuning)
    declared = dict(_declared(tuning))
    for location, encoder in declared.items():
        found = (*_of_arms(encoder, arms), *_of_vocabulary(encoder, experiment), *_of_stages(encoder))
        yield from (violation.under(*location) for violation in dict.fromkeys(found))


def _writes_texts(tuning: FineTuning, task: str) -> bool:
    return task in tuning.known_tasks and tuning.find(task).form == "text_pair"


def _without_texts(tuning: FineTuning) -> Iterator[Violation]:
    """Yield the encoders that no task would have."""
    known = [task for task in tuning.tasks if task in tuning.known_tasks]
    common = tuning.generation.source_encoder is not None
    if common and known and not any(_writes_texts(tuning, task) for task in known):
        yield Violation(FIELD, f"changes nothing: no task has targets that are texts: {', '.join(known)}")
    for task, own in tuning.by_task.items():
        if own.generation is None or own.generation.source_encoder is None or task not in known:
            continue
        if not _writes_texts(tuning, task):
            yield Violation(("by_task", task, *FIELD), f"changes nothing: {task} has no targets that are texts")


def _declared(tuning: FineTuning) -> Iterator[tuple[Location, SourceEncoder]]:
    """Yield the encoders of tasks whose targets are texts, with their places; the common one has one place."""
    for task in tuning.tasks:
        own = tuning.by_task.get(task)
        encoder = settings_of(tuning, task).generation.source_encoder
        if encoder is not None and _writes_texts(tuning, task):
            yield (*(() if own is None or own.generation is None else ("by_task", task)), *FIELD), encoder


def _of_arms(encoder: SourceEncoder, arms: dict[str, Architecture]) -> Iterator[Violation]:
    others = [name for name, each in arms.items() if not isinstance(each, EncoderDecoderArchitecture)]
    if others:
        needed = "needs architectures of kind encoder_decoder, whose embeddings of source tokens it replaces"
        yield Violation((), f"{needed}; these arms have none: {', '.join(others)}")
    for architecture in arms.values():
        if isinstance(architecture, EncoderDecoderArchitecture):
            yield from encoder.violations(architecture)


def _of_vocabulary(encoder: SourceEncoder, experiment: Experiment) -> Iterator[Violation]:
    if encoder.vocabulary_size is None:
        if encoder.tokenizer is not None:
            message = "is of a vocabulary of the source's own; write its vocabulary_size, or leave the tokenizer out"
            yield Violation(("tokenizer",), message)
    elif encoder.tokenizer is None and experiment.tokenizer.is_given:
        message = f"the experiment's tokenizer, {experiment.tokenizer.kind}, is given and learns no vocabulary"
        yield Violation(("vocabulary_size",), f"{message}; write source_encoder.tokenizer, such as wordpiece")


def _of_stages(encoder: SourceEncoder) -> Iterator[Violation]:
    if encoder.second_stage_learning_rate is not None and encoder.first_stage_share in (0, 1):
        message = f"changes nothing: with first_stage_share {encoder.first_stage_share:g} there is one stage"
        yield Violation(("second_stage_learning_rate",), f"{message}, whose rate is peak_learning_rate")
