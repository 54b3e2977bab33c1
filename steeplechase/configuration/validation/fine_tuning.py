"""Rules of `fine_tuning`: single tasks, searched settings, language-model losses, tasks made of others."""

from collections.abc import Iterator, Mapping, Sequence

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.recipe import SHORTEST_SEQUENCE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning, SettingsSearch, TaskTraining
from steeplechase.configuration.fine_tuning_runs import is_frozen, settings_of
from steeplechase.configuration.metrics import BUILT_IN_METRICS
from steeplechase.configuration.stage_label import MINIMAL_PAIRS, TASK_STAGES, UNTRAINED
from steeplechase.configuration.validation.arms import architectures_by_positions
from steeplechase.configuration.validation.source_encoder import source_encoder_violations
from steeplechase.foundation.errors import Violation, did_you_mean, listed_twice
from steeplechase.tasks.downstream import task_names
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.derived import (
    FEATURE_FORMS,
    RARIFIED_FORMS,
    DerivedTask,
    FeatureTask,
    RareWordsTask,
    RarifiedTask,
)

RESERVED = frozenset({*BUILT_IN_METRICS, UNTRAINED, *TASK_STAGES})
"""Names of metrics and stages, which would be ambiguous in tables and labels."""


def language_model_loss_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that pretrain without the loss, heads without it, and arms with too few layers."""
    tuning = experiment.fine_tuning
    arms = {arm.name: arm.candidate for arm in experiment.accepted_arms}
    found = (violation for each in _settings(tuning) for violation in _violations(tuning, arms, *each))
    yield from dict.fromkeys(found)  # the common settings are those of many tasks


def _violations(
    tuning: FineTuning, arms: dict[str, Candidate], location: tuple[str, ...], settings: FineTuning, task: str
) -> Iterator[Violation]:
    if settings.language_model_weight:
        field = (*location, "language_model_weight")
        others = [name for name, arm in arms.items() if not isinstance(arm.objective, LanguageModel)]
        if others:
            message = f"{', '.join(others)}: pretrained without a language model; write 0"
            yield Violation(field, message)
        if isinstance(tuning.own_tasks.get(task), FeatureTask):
            yield Violation(field, f"{task} reads a BiLSTM, which predicts no tokens; write 0 in by_task.{task}")
    layers = settings.transferred_layers
    if layers is not None:
        field = (*location, "transferred_layers")
        yield from _layer_violations(field, layers, {name: arm.architecture for name, arm in arms.items()})


def _settings(tuning: FineTuning) -> Iterator[tuple[tuple[str, ...], FineTuning, str]]:
    """Yield the settings of every task, with their place: the common ones, or those of the task alone."""
    for task in tuning.tasks:
        own = tuning.by_task.get(task)
        changes = {} if own is None else own.changes
        place = {"language_model_weight", "transferred_layers"} & changes.keys()
        yield ("by_task", task) if place else (), settings_of(tuning, task), task


def _layer_violations(
    field: tuple[str, ...], layers: int, architectures: dict[str, Architecture]
) -> Iterator[Violation]:
    modules = [name for name, each in architectures.items() if each.is_counted]
    if modules:
        yield Violation(field, f"{', '.join(modules)}: an architecture of kind module has no blocks to leave out")
    depths = {name: len(each.blocks) for name, each in architectures.items() if not each.is_counted}
    shallow = [f"{name} has {depth}" for name, depth in depths.items() if depth < layers]
    if shallow:
        yield Violation(field, f"{layers} blocks of {', '.join(shallow)}; allowed: 0 to {min(depths.values())}")


def rarified_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the contradictions in own tasks of `kind: rarified` and `rare_words`, under `fine_tuning`."""
    tuning = experiment.fine_tuning
    for name, own in tuning.own_tasks.items():
        location = ("own_tasks", name)
        if isinstance(own, RarifiedTask):
            if own.fewest_occurrences >= own.rarer_than:
                message = f"{own.fewest_occurrences} is not below rarer_than, {own.rarer_than}; no synonym is left"
                yield Violation((*location, "fewest_occurrences"), message)
            if name in tuning.known_tasks and not _has_labels(tuning.find(name)):
                yield Violation((*location, "of"), f"{own.of!r} has no label of one text or of a pair")
        if isinstance(own, RareWordsTask):
            yield from (violation.under(*location) for violation in _embedding_violations(experiment, name, own))


def _embedding_violations(experiment: Experiment, name: str, own: RareWordsTask) -> Iterator[Violation]:
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.rung_probe
    rarified = tuning.own_tasks.get(own.of)
    if isinstance(rarified, RarifiedTask) and rarified.rarer_than > own.occurrences:
        message = f"{own.occurrences} is below rarer_than of {own.of}, {rarified.rarer_than}: a word would be both"
        yield Violation(("occurrences",), message)
    yield from (violation.under("embeddings") for violation in _architecture_violations(experiment))
    if tuning.untrained_seeds and name in tuning.tasks:
        message = "an untrained encoder has no embeddings that could be mimicked; remove untrained_seeds"
        yield Violation(("embeddings",), message)
    if probe is not None and probe.task == name:
        yield Violation(("embeddings",), "a probe at hurdles has none; probe another task")


def _has_labels(task: DownstreamTask) -> bool:
    return task.form in RARIFIED_FORMS and task.method == "fine_tune" and task.value_range is None


def _architecture_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the architectures whose token tables cannot take further words."""
    for arm in experiment.accepted_arms:
        if arm.candidate.architecture.is_counted:
            yield Violation((), f"needs the encoder's token table; the architecture of {arm.name} is of kind module")
            return
        if arm.candidate.architecture.supersenses:
            yield Violation((), f"rare words have no supersenses, and the architecture of {arm.name} reads them")
            return


def fine_tuning_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the violations in settings of single tasks and in the search."""
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.rung_probe
    yield from _short_sequences(tuning)
    used = (*tuning.tasks, *([probe.task] if probe else []))
    for task, overrides in tuning.by_task.items():
        location = ("by_task", task)
        if task not in used:
            allowed = ", ".join(used) or "none, fine_tuning.tasks is empty"
            yield Violation(location, f"is not among the tasks; allowed: {allowed}")
        elif overrides.swap_pairs and task in tuning.known_tasks and not tuning.find(task).unordered:
            yield Violation((*location, "swap_pairs"), f"the pairs of {task} are ordered and cannot be swapped")
    if used:
        yield from _long_sequences(experiment, used)
    yield from _own_task_violations(tuning)
    yield from rarified_violations(experiment)
    yield from _text_pair_violations(experiment)
    yield from _frozen_violations(experiment)
    yield from language_model_loss_violations(experiment)
    yield from source_encoder_violations(experiment)
    if tuning.search is not None:
        yield from (violation.under("search") for violation in _search_violations(tuning.search))


def _short_sequences(tuning: FineTuning) -> Iterator[Violation]:
    """Yield the sequence lengths that two texts and their special tokens would not fit into."""
    for location, length in _lengths(tuning).items():
        if length < SHORTEST_SEQUENCE:
            message = f"{length} is too short; allowed: {SHORTEST_SEQUENCE} and longer"
            yield Violation((*location, "sequence_length"), message)


def _long_sequences(experiment: Experiment, used: Sequence[str]) -> Iterator[Violation]:
    """Yield the sequence lengths that the positions of an arm, or of a candidate of the search, cannot hold."""
    baseline = experiment.baseline.architecture
    others = architectures_by_positions(experiment)
    lengths = _lengths(experiment.fine_tuning)
    own = all(("by_task", task) in lengths for task in used)
    for location, length in lengths.items():
        read = others if location or not own else {}
        found = (f"{name}: {reason}" for name, each in read.items() if (reason := each.too_long(length)))
        if reason := baseline.too_long(length) or next(found, None):
            yield Violation((*location, "sequence_length"), reason)


def _lengths(tuning: FineTuning) -> dict[tuple[str, ...], int]:
    """Return the sequence length of all tasks, and those of single ones, by their places."""
    own = {("by_task", task): settings.sequence_length for task, settings in tuning.by_task.items()}
    return {(): tuning.sequence_length, **{place: length for place, length in own.items() if length is not None}}


def _own_task_violations(tuning: FineTuning) -> Iterator[Violation]:
    """Yield the contradictions in the tasks that the experiment declares."""
    for name, own in tuning.own_tasks.items():
        location = ("own_tasks", name)
        if name in task_names() or name in RESERVED:
            yield Violation(location, f"{name!r} is the name of a known task or metric; choose another")
        if not isinstance(own, DerivedTask):
            yield from (violation.under(*location) for violation in own.violations())
            continue
        rarified = [other for other in tuning.known_tasks if isinstance(tuning.own_tasks.get(other), RarifiedTask)]
        plain = [other for other in tuning.known_tasks if not isinstance(tuning.own_tasks.get(other), DerivedTask)]
        sources = rarified if isinstance(own, RareWordsTask) else plain
        if own.of not in sources and own.of not in tuning.own_tasks:
            allowed = ", ".join(sources) or "none"
            message = f"{own.of!r} is not a task. Allowed: {allowed}.{did_you_mean(own.of, sources)}"
            yield Violation((*location, "of"), message)
        elif isinstance(own, RareWordsTask):
            if not isinstance(tuning.own_tasks.get(own.of), RarifiedTask):
                yield Violation((*location, "of"), f"{own.of!r} is not of kind rarified")
        elif isinstance(tuning.own_tasks.get(own.of), DerivedTask):
            yield Violation((*location, "of"), f"{own.of!r} is itself made of another task; name that one")
        elif own.of in sources and isinstance(own, FeatureTask) and not _reads_tokens(tuning.find(own.of)):
            message = f"{own.of!r} has no label, value, tags or span that a BiLSTM on the tokens could predict"
            yield Violation((*location, "of"), message)


def _text_pair_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that cannot write the targets of a task, and settings that cannot be met."""
    tuning = experiment.fine_tuning
    probe = experiment.pretraining.hurdle.rung_probe
    candidates = {arm.name: arm.candidate for arm in experiment.accepted_arms}
    names = [name for name in (*tuning.tasks, *([probe.task] if probe else [])) if name in tuning.known_tasks]
    for task in dict.fromkeys(name for name in names if tuning.find(name).form == "text_pair"):
        yield from _writing_violations(candidates, tuning, task)
        settings = settings_of(tuning, task)
        averaged, epochs = settings.generation.averaged_checkpoints, settings.epochs
        if averaged > epochs:
            message = f"{averaged} checkpoints, one after each epoch, of {epochs} epochs; allowed: 1 to {epochs}"
            yield Violation(("generation", "averaged_checkpoints"), message)
        beams = settings.generation.beams
        smallest = min((each.architecture.vocabulary_size for each in candidates.values()), default=beams)
        if beams > smallest:
            message = f"{beams} beams of a vocabulary of {smallest}; allowed: 1 to {smallest}"
            yield Violation(("generation", "beams"), message)
        changed = tuning.by_task[task].changes if task in tuning.by_task else {}
        for name in ("dropout", "pooling", "layer_rate_decay"):
            if name in changed:
                own = "; the recipe's dropout holds" if name == "dropout" else ""
                yield Violation(("by_task", task, name), f"changes nothing: {task} has targets that are texts{own}")


def _writing_violations(candidates: Mapping[str, Candidate], tuning: FineTuning, task: str) -> Iterator[Violation]:
    """Yield the arms that cannot write the targets of a task."""
    unable = [
        name
        for name, each in candidates.items()
        if not (each.objective.writes_target or each.objective.continues_by_mask)
    ]
    if unable:
        needed = "architectures of kind encoder_decoder, or objective mixed_visibility"
        yield Violation(("tasks",), f"{task} needs {needed}; these arms have neither: {', '.join(unable)}")
    settings = settings_of(tuning, task)
    longest = settings.sequence_length + max(settings.sequence_length, settings.generation.longest_output or 0)
    for name, each in candidates.items():
        if not each.objective.continues_by_mask:
            continue
        if each.architecture.position.reads_segments:
            kind = each.architecture.position.kind
            message = f"{task}: {name} cannot write targets with segment encodings in {kind} positions"
            yield Violation(("tasks",), message)
        elif too_long := each.architecture.too_long(longest):
            yield Violation(("sequence_length",), f"{task}: {name} reads a source and a target as one: {too_long}")


def _reads_tokens(task: DownstreamTask) -> bool:
    return task.form in FEATURE_FORMS and task.method != MINIMAL_PAIRS


def _frozen_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield untrained encoders of equal seeds, and settings that a frozen encoder does not have."""
    tuning = experiment.fine_tuning
    yield from listed_twice(tuning.untrained_seeds, "untrained_seeds")
    frozen = {task: settings for task, settings in tuning.by_task.items() if is_frozen(tuning, task)}
    for task, settings in frozen.items():
        for name in sorted(settings.changes.keys() & TaskTraining.model_fields.keys()):
            message = f"changes nothing: {task} is evaluated on the frozen encoder, which is not trained"
            yield Violation(("by_task", task, name), message)


def _search_violations(search: SettingsSearch) -> Iterator[Violation]:
    axes: dict[str, tuple[float, ...]] = {
        "peak_learning_rate": search.peak_learning_rate,
        "weight_decay": search.weight_decay,
        "epochs": search.epochs,
    }
    if not any(axes.values()):
        yield Violation((), f"no values to search; give at least one list of {', '.join(axes)}")
    for name, values in axes.items():
        yield from listed_twice(values, name)
        for position, value in enumerate(values):
            if value < 0:
                yield Violation((name, position), f"{value!r} is below 0")
