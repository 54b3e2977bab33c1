"""What an experiment must satisfy as a whole: rules between its parts, each told at the place that breaks it."""

from collections.abc import Iterator
from pathlib import Path

from configuration.claims import UnclearClaim, parse_orderings, unknown_arms, unknown_names
from configuration.designs import Search
from configuration.experiment import Experiment
from configuration.fine_tuning_runs import settings_of
from configuration.initial_checkpoint import InitialCheckpoint, differing_fields, read_initial_checkpoint
from configuration.metrics import comparable_metrics
from configuration.validation.fine_tuning import teaching_violations
from configuration.validation.paper import published_violations
from configuration.validation.tuning import tune_violations
from foundation.errors import UserError, Violation, did_you_mean
from search_space.overrides import InvalidOverride, absolute_path
from tasks.dataset_folder import origin_of
from tasks.downstream import find_task, task_names

FIXED = ("parameters", "forward_flops", "train_flops", "tokens", "depth", "width")
"""What a table shows of an arm that no seed changes."""


def violations_of(experiment: Experiment) -> Iterator[Violation]:
    """Yield every rule that the values break together."""
    broken = [violation.under("baseline") for violation in experiment.baseline.violations()]
    yield from broken
    if not broken:
        yield from experiment.roster.violations
        yield from _search_violations(experiment)
        yield from _ordering_violations(experiment)
        yield from _objective_violations(experiment)
        yield from published_violations(experiment)
        yield from _claim_violations(experiment)
        yield from _start_violations(experiment)
        if not experiment.roster.violations:
            yield from tune_violations(experiment)
    yield from _pretraining_violations(experiment)
    if experiment.forecast is not None and experiment.forecast.tokens < experiment.pretraining.tokens:
        whole, asked = experiment.pretraining.tokens, experiment.forecast.tokens
        message = f"{asked} tokens are fewer than pretraining.tokens, {whole}"
        yield Violation(("forecast", "tokens"), message)
    yield from _fine_tuning_violations(experiment)
    if not broken:
        yield from _measure_violations(experiment)


def _search_violations(experiment: Experiment) -> Iterator[Violation]:
    searches = [position for position, design in enumerate(experiment.designs) if isinstance(design, Search)]
    for position in searches[1:]:
        yield Violation(("design", position), "a second search; an experiment has one")
    if searches and experiment.match is not None:
        message = "a search proposes its candidates later, so they have no twins. Did you mean constraints?"
        yield Violation(("match",), message)


def _ordering_violations(experiment: Experiment) -> Iterator[Violation]:
    try:
        known = {arm.name for arm in experiment.arms}
    except InvalidOverride:
        return  # the design's own violations say why
    for position, text in enumerate(experiment.paper.orderings if experiment.paper else ()):
        try:
            orderings = parse_orderings(text)
        except UnclearClaim as unclear:
            wrong = [str(unclear)]
        else:
            names = dict.fromkeys(name for one in orderings for name in (one.first, one.second))
            wrong = unknown_arms(names, known)
        yield from (Violation(("paper", "orderings", position), message) for message in wrong)


def _claim_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield every claim about arms or metrics that are not there."""
    try:
        arms = [arm.name for arm in experiment.arms]
    except InvalidOverride:
        return  # the design's own violations say why
    described = [name for name, asked in experiment.measure if asked is not None]
    metrics = (*comparable_metrics(experiment.fine_tuning.tasks), *described)
    for position, claim in enumerate(experiment.claims):
        yield from (Violation(("claims", position), message) for message in unknown_names(claim, arms, metrics))


def _start_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield why the start's weights are not those of every arm."""
    place = ("pretraining", "init_checkpoint")
    if experiment.pretraining.init_checkpoint is None:
        return
    try:
        start = read_initial_checkpoint(Path(experiment.pretraining.init_checkpoint))
        yield from _other_architectures(experiment, start)
        if experiment.tokenizer.inputs() != start.vocabulary:
            yield Violation(("tokenizer",), start.remedy)
    except InvalidOverride:
        return  # the design's own violations say why
    except UserError as refusal:
        yield from (Violation(place, line) for line in refusal.lines)


def _other_architectures(experiment: Experiment, start: InitialCheckpoint) -> Iterator[Violation]:
    if experiment.search is not None:
        for path in experiment.search.space:
            if absolute_path(path)[0] == "architecture":
                message = "would change the architecture, which pretraining.init_checkpoint fixes"
                yield Violation(("design", "space", path), message)
    for arm in experiment.arms:
        for field in differing_fields(start.architecture, arm.candidate.architecture):
            message = f"{arm.name} cannot begin from {start.folder}: {field}"
            yield Violation(("pretraining", "init_checkpoint"), message)


def _pretraining_violations(experiment: Experiment) -> Iterator[Violation]:
    marks, tokens = experiment.pretraining.hurdle.rung_tokens, experiment.pretraining.tokens
    place = ("pretraining", "hurdle")
    for position, mark in enumerate(marks):
        if position and mark <= marks[position - 1]:
            message = f"{mark} does not come after {marks[position - 1]}; rungs rise strictly"
            yield Violation((*place, "rungs", position), message)
        if mark >= tokens:
            message = f"{mark} is not before the end of pretraining at {tokens} tokens"
            yield Violation((*place, "rungs", position), message)
    if marks and experiment.search is None:
        message = "would stop declared rows of a table; allowed here: finite. Did you mean design.kind search?"
        yield Violation((*place, "kind"), f"{experiment.pretraining.hurdle.kind} {message}")
    if experiment.pretraining.audit is not None and not marks:
        message = f"{experiment.pretraining.hurdle.kind} stops nobody before the end, so there is nobody to audit"
        yield Violation(("pretraining", "audit"), message)
    yield from _reference_violations(experiment)
    yield from _probe_violations(experiment)
    yield from _seed_violations(experiment)
    length = experiment.baseline.recipe.sequence_length
    if experiment.pretraining.tokens < experiment.baseline.recipe.tokens_per_step:
        message = (
            f"{tokens} tokens are less than one update of {experiment.baseline.recipe.batch_sequences} x {length}"
        )
        yield Violation(("pretraining", "tokens"), message)


def _reference_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield why the reference's questions are none for the arms."""
    reference, place = experiment.pretraining.evaluation_reference, ("pretraining", "evaluation_reference")
    if reference is None:
        return
    yield from (violation.under(*place) for violation in reference.violations())
    theirs, ours = reference.objective.kind, experiment.baseline.objective.kind
    if theirs != ours:
        yield Violation((*place, "objective"), f"asks about {theirs}, but the arms are taught {ours}")
    known, words = experiment.baseline.architecture.vocabulary_size, reference.architecture.vocabulary_size
    if known != words:
        message = f"{words} words; the arms have {known}, and questions are made of one vocabulary"
        yield Violation((*place, "architecture", "vocabulary_size"), message)


def _objective_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that are taught something else than what the held-out questions ask."""
    try:
        arms = experiment.arms
    except InvalidOverride:
        return  # the design's own violations say why
    kind = experiment.baseline.objective.kind
    other = [arm.name for arm in arms if arm.candidate.objective.kind != kind]
    if other:
        message = f"{', '.join(other)} would be asked about {kind}, which they are not taught. Did you mean a scale?"
        yield Violation(("design",), message)


def _probe_violations(experiment: Experiment) -> Iterator[Violation]:
    probe, known = experiment.pretraining.hurdle.probe, task_names()
    if probe is not None and probe.task not in known:
        message = f"{probe.task!r} is not a task. Allowed: {', '.join(known)}"
        yield Violation(("pretraining", "hurdle", "probe", "task"), message)


def _seed_violations(experiment: Experiment) -> Iterator[Violation]:
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        yield from _repeated(seeds, ("pretraining", "seeds"))
        return
    place = ("pretraining", "seeds", "until_decided")
    if experiment.search is not None:
        yield Violation(place, "a search ranks candidates on equal seeds; list them. Write [1, 2, 3]")
    for metric in seeds.until_decided.margin:
        wrong = _no_decider(metric, experiment.fine_tuning.tasks)
        if wrong is not None:
            yield Violation((*place, "margin", metric), wrong)


def _no_decider(metric: str, tasks: tuple[str, ...]) -> str | None:
    """Return why a metric cannot decide on seeds, None where it can."""
    if metric in FIXED:
        return f"{metric!r} is the same on every seed: there is nothing that more of them would decide"
    allowed = comparable_metrics(tasks)
    task, _, further = metric.partition(":")
    if further and task in tasks and task in task_names():
        known = find_task(task).metrics[1:]
        return (
            None if further in known else f"{task!r} has no further metric {further!r}. Allowed: {', '.join(known)}"
        )
    if metric in allowed:
        return None
    untold = " No task is fine-tuned on" if not tasks else ""
    return f"{metric!r} is not measured here. Allowed: {', '.join(allowed)}.{untold}{did_you_mean(metric, allowed)}"


def _fine_tuning_violations(experiment: Experiment) -> Iterator[Violation]:
    known = task_names()
    for position, task in enumerate(experiment.fine_tuning.tasks):
        if task not in known:
            message = f"{task!r} is not a task. Allowed: {', '.join(known)}"
            yield Violation(("fine_tuning", "tasks", position), message)
        elif (files := find_task(task).files) is not None and experiment.fine_tuning.data is None:
            message = f"has files, and fine_tuning.data does not say where. {origin_of(files)}"
            yield Violation(("fine_tuning", "tasks", position), message)
    yield from _length_violations(experiment)
    yield from _repeated(experiment.fine_tuning.tasks, ("fine_tuning", "tasks"))
    yield from _repeated(experiment.fine_tuning.seeds, ("fine_tuning", "seeds"))
    yield from (violation.under("fine_tuning") for violation in teaching_violations(experiment))
    positions = experiment.baseline.architecture.positions
    asked = bool(experiment.fine_tuning.tasks) or experiment.pretraining.hurdle.probe is not None
    if asked and experiment.fine_tuning.sequence_length > positions:
        message = (
            f"{experiment.fine_tuning.sequence_length} is longer than the {positions} positions of the architecture"
        )
        yield Violation(("fine_tuning", "sequence_length"), message)


def _length_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield tasks that do not fit the sequences they get, and a lengthening that no task is behind."""
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.probe
    asked = dict.fromkeys((*tuning.tasks, *((probe.task,) if probe else ())))
    tasks = [find_task(name) for name in asked if name in task_names()]
    for task in tasks:
        length = settings_of(tuning, task.name).sequence_length
        if length < task.shortest_sequence:
            message = f"{length} is too short for {task.name}"
            allowed = f"allowed: {task.shortest_sequence} and longer"
            yield Violation(("fine_tuning", "sequence_length"), f"{message}; {allowed}")
    if experiment.baseline.recipe.long_sequence_share and not any(task.long_sequences for task in tasks):
        known = ", ".join(name for name in task_names() if find_task(name).long_sequences)
        message = f"changes nothing: none of fine_tuning.tasks begins behind it. Those that do: {known}"
        yield Violation(("baseline", "recipe", "long_sequence_share"), message)


def _measure_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield what keeps every arm from being measured on the same sequences."""
    place = ("measure", "attention_diagonal")
    if experiment.measure.attention_diagonal is None:
        return
    if experiment.search is not None:
        yield Violation(place, "a search ranks its candidates; measure those that matter in a list of their own")
        return
    length = experiment.baseline.recipe.sequence_length
    try:
        arms = experiment.arms
    except InvalidOverride:
        return  # the design's own violations say why
    for arm in arms:
        positions = arm.candidate.architecture.positions
        if positions < length:
            message = f"{arm.name} has {positions} positions; C is compared on the baseline's {length} tokens"
            yield Violation(place, message)


def _repeated(values: tuple[int | str, ...], place: tuple[str | int, ...]) -> Iterator[Violation]:
    for position, value in enumerate(values):
        if value in values[:position]:
            yield Violation((*place, position), f"{value!r} stands twice")
