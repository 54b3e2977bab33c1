"""Validation rules between the sections of an experiment; each violation has the path of the offending value."""

import re
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from search_space.overrides import absolute_path
from steeplechase.configuration.claims import UnclearClaim, parse_orderings
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import is_frozen, settings_of
from steeplechase.configuration.metrics import ATTENTION_DIAGONAL, COSTS, SCORE
from steeplechase.configuration.validation.arms import (
    data_violations,
    lexicon_violations,
    mention_violations,
    module_violations,
    objective_violations,
    paper_violations,
    unknown_arms,
    untrained_violations,
)
from steeplechase.configuration.validation.fine_tuning import fine_tuning_violations
from steeplechase.configuration.validation.initial_checkpoints import (
    checkpoint_violations,
    initial_checkpoint_violations,
)
from steeplechase.configuration.validation.metrics import margin_violations, own_metric_violations, unmeasured
from steeplechase.configuration.validation.search import policy_violations, rung_violations, search_violations
from steeplechase.configuration.validation.tuning import tune_violations
from steeplechase.foundation.errors import Violation, did_you_mean, listed_twice
from steeplechase.foundation.schema import LARGEST_COUNT
from steeplechase.tasks.dataset_folder import origin_of
from steeplechase.tasks.downstream import find_task, task_names

FIXED = ("parameters", "forward_flops", "train_flops", "tokens", "depth", "width")
"""Columns of a table that are equal on every seed of an arm."""


def violations_of(experiment: Experiment) -> Iterator[Violation]:
    """Yield the violations of rules between the sections."""
    of_baseline = [violation.under("baseline") for violation in experiment.baseline.violations()]
    yield from of_baseline
    if not of_baseline:
        yield from experiment.arm_table.violations
        yield from search_violations(experiment)
        yield from _ordering_violations(experiment)
        yield from objective_violations(experiment)
        yield from data_violations(experiment)
        yield from lexicon_violations(experiment)
        yield from mention_violations(experiment)
        yield from paper_violations(experiment)
        yield from _claim_violations(experiment)
        yield from initial_checkpoint_violations(experiment)
        if not experiment.arm_table.violations:
            yield from tune_violations(experiment)
    yield from margin_violations(experiment)
    if experiment.headline_metrics == (SCORE,) and not experiment.fine_tuning.tasks:
        yield Violation(("headline_metrics",), "there is no score, because fine_tuning.tasks is empty")
    if experiment.target_loss is not None and not experiment.pretrains:
        yield Violation(("target_loss",), "there is no held-out loss, because nothing is pretrained")
    yield from tracking_violations(experiment)
    yield from _pretraining_violations(experiment)
    yield from _fine_tuning_violations(experiment)
    yield from own_metric_violations(experiment)
    if not of_baseline:
        yield from _measure_violations(experiment)
        yield from module_violations(experiment)
    if not experiment.has_trials:
        yield from _violations_without_trials(experiment)


def _violations_without_trials(experiment: Experiment) -> Iterator[Violation]:
    """Yield what needs a trained model in an experiment without any."""
    if not experiment.measure.of_arms:
        message = "this key is missing; for example pretraining: { tokens: 1e6, seeds: [1, 2, 3] }"
        yield Violation(("pretraining",), message)
        return
    idle: dict[tuple[str, ...], object] = {
        ("design",): experiment.search,
        ("match",): experiment.match,
        ("tune",): experiment.tune,
        ("claims",): experiment.claims,
        ("paper", "orderings"): experiment.paper and experiment.paper.orderings,
        ("fine_tuning", "tasks"): experiment.fine_tuning.tasks,
        **{("measure", name): each.of_trials for name, each in experiment.measure.declared.items()},
    }
    for location, given in idle.items():
        if given:
            yield Violation(location, "needs trained models, and there is no `pretraining`")
    for arm in experiment.accepted_arms:
        for path in (path for path in arm.changes if absolute_path(path)[0] != "architecture"):
            yield Violation(("design",), f"{arm.name} changes {path}, which nothing reads without `pretraining`")


def _ordering_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the unclear orderings of the paper, and those about unknown arms or metrics."""
    paper = experiment.paper
    for position, name in enumerate(paper.metrics if paper else ()):
        if reason := unmeasured(name, experiment.fine_tuning):
            yield Violation(("paper", "metrics", position), reason)
    known = {arm.name for arm in experiment.accepted_arms}
    if not known:
        return
    for position, text in enumerate(paper.orderings if paper else ()):
        try:
            orderings = parse_orderings(text)
        except UnclearClaim as unclear:
            messages = [str(unclear)]
        else:
            names = dict.fromkeys(name for ordering in orderings for name in (ordering.first, ordering.second))
            messages = unknown_arms(names, known)
        yield from (Violation(("paper", "orderings", position), message) for message in messages)


def _claim_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the claims about unknown arms or metrics."""
    arms = [arm.name for arm in experiment.accepted_arms]
    if not arms:
        return
    measurements = [*COSTS, *([] if experiment.measure.attention_diagonal is None else [ATTENTION_DIAGONAL])]
    for position, claim in enumerate(experiment.claims):
        reason = unmeasured(claim.metric, experiment.fine_tuning, measurements)
        messages = [*([reason] if reason else []), *unknown_arms((claim.first, claim.second), arms)]
        yield from (Violation(("claims", position), message) for message in messages)


def _pretraining_violations(experiment: Experiment) -> Iterator[Violation]:
    rungs, tokens = experiment.pretraining.rung_tokens, experiment.pretraining.tokens
    location = ("pretraining", "hurdle")
    yield from rung_violations(experiment)
    if not any(True for _ in experiment.baseline.violations()):
        yield from checkpoint_violations(experiment)
    if rungs and experiment.search is None:
        message = "would stop declared arms of a table; allowed here: finite. Did you mean design.kind search?"
        yield Violation((*location, "kind"), f"{experiment.pretraining.hurdle.kind} {message}")
    if experiment.pretraining.audit is not None and not rungs:
        message = f"an audit needs a hurdle with rungs; {experiment.pretraining.hurdle.kind} stops no trial early"
        yield Violation(("pretraining", "audit"), message)
    yield from policy_violations(experiment)
    yield from _reference_violations(experiment)
    yield from untrained_violations(experiment)
    yield from _probe_violations(experiment)
    yield from _seed_violations(experiment)
    length = experiment.baseline.recipe.sequence_length
    arms = experiment.accepted_arms
    if many := [arm.name for arm in arms if arm.candidate.recipe.own_tokens(tokens) > LARGEST_COUNT]:
        message = f"{', '.join(many)}: a share of {tokens} tokens above {LARGEST_COUNT}, which no count can hold"
        yield Violation(("pretraining", "tokens"), message)
    if 0 < tokens < experiment.baseline.recipe.tokens_after(1):
        sequences = experiment.baseline.recipe.smallest_batch
        message = f"{tokens} is less than one update of {sequences} x {length} tokens"
        yield Violation(("pretraining", "tokens"), message)


def _reference_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the reasons why the reference's evaluation set does not fit the arms."""
    reference, location = experiment.pretraining.evaluation_reference, ("pretraining", "evaluation_reference")
    if reference is None:
        return
    yield from (violation.under(*location) for violation in reference.violations())
    objective, trained = reference.objective.evaluation, experiment.baseline.objective.evaluation
    if objective != trained:
        message = f"{objective} differs from the arms' objective, {trained}; losses would not be comparable"
        yield Violation((*location, "objective"), message)
    size, trained_size = reference.architecture.vocabulary_size, experiment.baseline.architecture.vocabulary_size
    if size != trained_size:
        message = f"{size} differs from the arms' vocabulary size, {trained_size}; the evaluation set has one"
        yield Violation((*location, "architecture", "vocabulary_size"), message)


def _probe_violations(experiment: Experiment) -> Iterator[Violation]:
    probe, known = experiment.pretraining.hurdle.rung_probe, experiment.fine_tuning.known_tasks
    if probe is not None and probe.task not in known:
        message = _unknown_task(probe.task, known)
        yield Violation(("pretraining", "hurdle", "probe", "task"), message)
    elif probe is not None and is_frozen(experiment.fine_tuning, probe.task):
        message = f"{probe.task} is evaluated on the frozen encoder; a hurdle's probe is fine-tuned"
        yield Violation(("pretraining", "hurdle", "probe", "task"), message)


def _seed_violations(experiment: Experiment) -> Iterator[Violation]:
    seeds = experiment.pretraining.seeds
    if isinstance(seeds, tuple):
        yield from listed_twice(seeds, "pretraining", "seeds")
        return
    location = ("pretraining", "seeds", "until_decided")
    if experiment.search is not None:
        yield Violation(location, "a search compares candidates on equal seeds; list them. Write [1, 2, 3]")
    for metric in seeds.until_decided.margin:
        reason = _undecidable_reason(metric, experiment.fine_tuning)
        if reason is not None:
            yield Violation((*location, "margin", metric), reason)


def _undecidable_reason(metric: str, tuning: FineTuning) -> str | None:
    """Return the reason why further seeds cannot decide on a metric, None if they can."""
    if metric in FIXED:
        return f"{metric!r} is the same on every seed; further seeds cannot decide it"
    return unmeasured(metric, tuning)


def _unknown_task(name: str, known: Collection[str]) -> str:
    return f"{name!r} is not a task.{did_you_mean(name, known)} Allowed: {', '.join(known)}"


def _fine_tuning_violations(experiment: Experiment) -> Iterator[Violation]:
    tuning = experiment.fine_tuning
    known = tuning.known_tasks
    for position, task in enumerate(tuning.tasks):
        if task not in known:
            if task not in tuning.own_tasks:  # else its declaration has the mistake
                message = _unknown_task(task, known)
                yield Violation(("fine_tuning", "tasks", position), message)
        elif (files := tuning.find(task).files) is not None and tuning.data is None and not tuning.is_table(task):
            message = f"{task} needs fine_tuning.data, the folder of its files. {origin_of(files)}"
            yield Violation(("fine_tuning", "tasks", position), message)
    yield from _length_violations(experiment)
    yield from listed_twice(experiment.fine_tuning.tasks, "fine_tuning", "tasks")
    yield from listed_twice(experiment.fine_tuning.seeds, "fine_tuning", "seeds")
    yield from (violation.under("fine_tuning") for violation in fine_tuning_violations(experiment))


def _length_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield tasks with too short sequences, and a long-sequence phase that no task uses."""
    tuning, probe = experiment.fine_tuning, experiment.pretraining.hurdle.rung_probe
    names = dict.fromkeys((*tuning.tasks, *((probe.task,) if probe else ())))
    tasks = [tuning.find(name) for name in names if name in tuning.known_tasks]
    for task in tasks:
        length = settings_of(tuning, task.name).sequence_length
        if length < task.shortest_sequence:
            message = f"{length} is too short for {task.name}"
            allowed = f"allowed: {task.shortest_sequence} and longer"
            yield Violation(("fine_tuning", "sequence_length"), f"{message}; {allowed}")
    if experiment.baseline.recipe.long_sequence_share and not any(task.long_sequences for task in tasks):
        known = ", ".join(name for name in task_names() if find_task(name).long_sequences)
        message = (
            f"has no effect: no task in fine_tuning.tasks uses the long-sequence checkpoint. Tasks that do: {known}"
        )
        yield Violation(("baseline", "recipe", "long_sequence_share"), message)


def _measure_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the reasons why the arms cannot all be measured."""
    arms = {arm.name: arm.candidate for arm in experiment.accepted_arms}
    for name, measurement in experiment.measure.declared.items():
        if experiment.search is not None and not measurement.in_a_search:
            message = "candidates of a search are not measured; measure selected ones in a list design"
            yield Violation(("measure", name), message)
            continue
        found = measurement.violations(experiment.baseline.recipe.sequence_length, arms)
        yield from (violation.under("measure", name) for violation in found)


SECRET = re.compile(r"(?i)[?&;](?:password|passwd|token|secret|sslpassword)=")
MESSAGE = (
    "holds a password, which the ledger and published rows would keep; "
    "leave it out, and set MLFLOW_TRACKING_URI to the whole address"
)


def tracking_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a violation for an address with a password."""
    uri = experiment.tracking or ""
    try:
        named = urlsplit(uri).password is not None
    except ValueError:  # not an address; the tracking store's own message says so
        named = False
    if named or SECRET.search(uri):
        yield Violation(("tracking",), MESSAGE)
