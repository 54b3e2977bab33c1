"""What an experiment needs and this machine lacks, data or a device: reported before any folder is created."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.arm_names import named
from steeplechase.foundation.devices import NONE, card, compute_capability, triton_version
from steeplechase.foundation.environment import gpu_missing
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.tasks.data_folder import HINT
from steeplechase.tasks.text_metrics import refuse_missing_libraries

T = TypeVar("T")
FIRST_WITH_BFLOAT16 = 8.0
"""Compute capability of NVIDIA's Ampere."""


def refuse_missing(experiment: Experiment) -> None:
    """Raise DataError with every missing source and library; existing sources are not read.

    Raises MachineError if only libraries are missing: that of a corpus, or of a metric, which is needed when the
    trials have been trained.
    """
    tuning, measured = experiment.fine_tuning, experiment.measure.declared.values()
    tasks = [task for task in tasks_of(experiment) if not tuning.is_table(task)]  # tables are read as a whole
    corpora = {f"data.{name}.corpus": each.corpus for name, each in experiment.data.items()}
    corpora = {"corpus": experiment.corpus, **corpora, "fine_tuning.corpus": tuning.corpus}
    by_corpus = {corpus: setting for setting, corpus in reversed(corpora.items()) if corpus is not None}
    files = [tuning.find(task).files for task in tasks]
    checks: list[Callable[[], object]] = [
        *(partial(at_setting, setting, corpus.check_exists) for corpus, setting in reversed(by_corpus.items())),
        *([] if experiment.lexicon is None else [experiment.lexicon.located]),
        *(source for each in measured for source in each.sources),
        *([] if experiment.mentions is None else [experiment.mentions.located]),
        *(own.synonyms.located for task in tasks_of(experiment) if (own := tuning.rarified(task)) is not None),
        *(partial(tuning.data.located, task) for task in files if task is not None and tuning.data is not None),
    ]
    of_texts = [found for task in tasks_of(experiment) if (found := tuning.find(task)).form == "text_pair"]
    metrics = [metric for found in of_texts for metric in found.metrics]
    checks.append(partial(refuse_missing_libraries, metrics))
    collected(checks)


def at_setting(setting: str, call: Callable[[], T]) -> T:
    """Return the result of a call; the lines of its DataError begin with the setting that they are about."""
    try:
        return call()
    except DataError as error:
        raise DataError(line if line == HINT else f"{setting}: {line}" for line in error.lines) from error


def refuse_other_lexicon(experiment: Experiment) -> None:
    """Raise DataError if the lexicon has mistakes, or another number of supersenses than an arm has."""
    if experiment.lexicon is not None:
        sizes = {arm.candidate.architecture.supersenses for arm in experiment.arms} - {0}
        collected(partial(experiment.lexicon.refuse_other_than, size) for size in sorted(sizes))


def collected(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results of all calls.

    Raises one DataError with the lines of every DataError and MachineError, or one MachineError if no data are at
    fault.
    """
    results: list[T] = []
    lines: list[str] = []
    kind: type[DataError | MachineError] = MachineError
    for call in calls:
        try:
            results.append(call())
        except (DataError, MachineError) as error:
            lines += error.lines
            kind = DataError if isinstance(error, DataError) else kind
    if lines:
        raise kind(sorted(dict.fromkeys(lines), key=lambda line: line == HINT))  # the common hint last
    return results


def tasks_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the fine-tuning tasks, the hurdles' probe included."""
    tasks, probe = experiment.fine_tuning.tasks, experiment.pretraining.hurdle.rung_probe
    return tasks if probe is None or probe.task in tasks else (*tasks, probe.task)


def missing_device(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each thing that arms on a GPU need and this machine lacks: the GPU, Triton, bfloat16."""
    on_gpu = [arm for arm in experiment.arms if arm.candidate.recipe.device == "cuda"]
    in_bfloat16 = [arm for arm in on_gpu if arm.candidate.recipe.precision == "bfloat16"]
    if not on_gpu:
        return
    count, every = len(experiment.arms), named([arm.name for arm in on_gpu], len(experiment.arms))
    reason = gpu_missing()
    if reason is not None:
        yield (
            f"recipe.device: cuda of {every} is not available on this machine: {reason}; allowed here: cpu. "
            "A Ray cluster with GPUs is used by --engine ray --address"
        )
        return
    if triton_version() == NONE:
        remedy = "pip install triton as torch's own pin says"
        yield f"recipe.device: cuda of {every} needs Triton, which is not installed; {remedy}"
    capability = compute_capability() if in_bfloat16 else None
    if capability is not None and capability < FIRST_WITH_BFLOAT16:
        names = named([arm.name for arm in in_bfloat16], count)
        problem = f"{card()} (compute capability {capability:g}) lacks it, which came with 8.0"
        yield f"recipe.precision: bfloat16 of {names} is not available on this machine: {problem}; allowed: float32"
