"""Rules of the checkpoints from which trainings begin, and at which a longer budget continues those of a shorter one.

With an initial checkpoint an experiment may fine-tune without pretraining. Up to one of `pretraining.checkpoints` the
learning rate must not depend on the budget: `constant`, `inverse_square_root`, and `warmup_stable_decay` before its
decay (Hägele et al. 2024, arXiv 2405.18392).
"""

from bisect import bisect_left
from collections.abc import Iterator

from search_space.overrides import INIT_CHECKPOINT, absolute_path
from steeplechase.configuration.arm import BASELINE, Arm, changed_arm
from steeplechase.configuration.designs.components import ListDesign
from steeplechase.configuration.designs.search import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import is_frozen
from steeplechase.configuration.hurdles.rungs import Finite
from steeplechase.configuration.initial_checkpoint import differing_fields, read_initial_checkpoint
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.configuration.stage_label import MINIMAL_PAIRS
from steeplechase.foundation.errors import UserError, Violation
from steeplechase.tasks.data_folder import resolved

IN_FINE_TUNING = ("device", "precision", "dropout", "label_smoothing")
"""Fields of a recipe that fine-tuning reads too."""
TOKENS = ("pretraining", "tokens")
LOCATION = ("pretraining", "checkpoints")


def initial_checkpoint_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the initial checkpoints that do not fit their arms, and what needs pretraining where there is none."""
    yield from _checkpoint_violations(experiment)
    yield from _searched_architecture_violations(experiment)
    yield from _change_violations(experiment)
    if experiment.has_trials and not experiment.pretrains:
        yield from _without_pretraining(experiment)


def _checkpoint_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the checkpoints that cannot be read, or have another architecture than an arm, or another vocabulary."""
    by_folder: dict[str, list[Arm]] = {}
    searched = experiment.search.space.get(INIT_CHECKPOINT, ()) if experiment.search else ()
    texts = [value for value in searched if isinstance(value, str)]
    candidates = [changed_arm(value, experiment.baseline, {INIT_CHECKPOINT: value}) for value in texts]
    for arm in (*experiment.accepted_arms, *candidates):
        if (folder := experiment.initial_checkpoint(arm.candidate)) is not None:
            by_folder.setdefault(folder, []).append(arm)
    if not by_folder and (folder := experiment.initial_checkpoint(experiment.baseline)) is not None:
        by_folder[folder] = []  # the arms are refused for other reasons
    for folder, arms in by_folder.items():
        shared = folder == experiment.pretraining.init_checkpoint
        location: tuple[str | int, ...] = ("pretraining", INIT_CHECKPOINT) if shared else _place(experiment, arms)
        try:
            checkpoint = read_initial_checkpoint(resolved(folder))
            for arm in arms:
                for field in differing_fields(checkpoint.architecture, arm.candidate.architecture):
                    yield Violation(location, f"{arm.name} cannot be initialised from {checkpoint.folder}: {field}")
            if experiment.tokenizer.inputs() != checkpoint.vocabulary:
                others = "" if len(by_folder) == 1 else "; all arms read their texts with one tokenizer"
                yield Violation(("tokenizer",), f"{checkpoint.remedy}{others}")
        except UserError as refusal:
            yield from (Violation(location, line) for line in refusal.lines)


def _place(experiment: Experiment, arms: list[Arm]) -> tuple[str | int, ...]:
    """Return where the checkpoint of these arms is declared: at the baseline, or at the first arm that names it."""
    if not arms or arms[0].name == BASELINE:
        return "baseline", INIT_CHECKPOINT
    for position, design in enumerate(experiment.designs):
        of_several = (position,) if isinstance(experiment.design, tuple) else ()
        if isinstance(design, Search) and INIT_CHECKPOINT in design.space:
            return "design", *of_several, "space", INIT_CHECKPOINT
        if isinstance(design, ListDesign) and INIT_CHECKPOINT in design.arms.get(arms[0].name, ()):
            return "design", *of_several, "arms", arms[0].name, INIT_CHECKPOINT
    return ("design",)


def _searched_architecture_violations(experiment: Experiment) -> Iterator[Violation]:
    if experiment.search is None or experiment.initial_checkpoint(experiment.baseline) is None:
        return
    message = "would change the architecture, which pretraining.init_checkpoint fixes"
    for path in experiment.search.space:
        if absolute_path(path)[0] == "architecture":
            yield Violation(("design", "space", path), message)
    for stack in experiment.search.structure:
        yield Violation(("design", "structure", stack), message)


def _change_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms whose changes of fine-tuning have no effect."""
    tuning = experiment.fine_tuning
    trained = [task for task in tuning.tasks if not is_frozen(tuning, task)]
    searched = {name for name in ("peak_learning_rate", "weight_decay", "epochs") if getattr(tuning.search, name, ())}
    for arm in experiment.accepted_arms:
        changes = arm.candidate.fine_tuning.values
        if changes and not trained:
            message = f"{arm.name} changes fine_tuning.{next(iter(changes))}, and no task is fine-tuned"
            yield Violation(("fine_tuning", "tasks"), message)
        for name in sorted(searched & changes.keys()):
            message = f"{arm.name} sets {name} too; a field is searched or set by an arm"
            yield Violation(("fine_tuning", "search", name), message)


def _without_pretraining(experiment: Experiment) -> Iterator[Violation]:
    """Yield what needs pretraining, in an experiment without any."""
    tuning = experiment.fine_tuning
    arms = experiment.accepted_arms
    if missing := [arm.name for arm in arms if experiment.initial_checkpoint(arm.candidate) is None]:
        message = f"0 tokens train nothing, and {', '.join(missing)} has no initial checkpoint"
        yield Violation(TOKENS, f"{message}. Write pretraining.init_checkpoint: FOLDER, or 1 token or more")
    if not tuning.tasks:
        yield Violation(TOKENS, "0 tokens leave fine-tuning alone, and fine_tuning.tasks is empty")
    if len(tuning.seeds) > 1:
        message = "without pretraining the seeds of fine-tuning are pretraining.seeds"
        yield Violation(("fine_tuning", "seeds"), f"{message}; list them there, and leave fine_tuning.seeds out")
    for location, given in _idle_sections(experiment):
        if given:
            yield Violation(location, "needs pretraining, and pretraining.tokens is 0")
    scored = [task for task in tuning.tasks if task in tuning.known_tasks]
    for task in (name for name in scored if tuning.find(name).method == MINIMAL_PAIRS):
        message = f"{task} is scored by a pretrained head, which no initial checkpoint has"
        yield Violation(("fine_tuning", "tasks"), message)
    for arm in arms:
        for path in arm.changes:
            part, _, name = path.partition(".")
            if part in ("objective", "recipe") and name not in IN_FINE_TUNING:
                message = f"{arm.name} changes {path}, which fine-tuning does not read, and pretraining.tokens is 0"
                yield Violation(("design",), message)


def _idle_sections(experiment: Experiment) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the sections that are about pretraining, and whether the experiment has them."""
    settings = experiment.pretraining
    yield ("pretraining", "hurdle"), not isinstance(settings.hurdle, Finite)
    yield ("pretraining", "audit"), settings.audit is not None
    yield ("design",), experiment.search is not None
    yield ("tune",), experiment.tune is not None
    yield ("match",), experiment.match is not None
    for name, measurement in experiment.measure.declared.items():
        yield ("measure", name), measurement.of_pretraining
    yield ("baseline", "recipe", "pruning"), experiment.baseline.recipe.pruning is not None
    seeds = settings.seeds
    decided_by_loss = not isinstance(seeds, tuple) and HELD_OUT_LOSS in seeds.until_decided.margin
    yield ("pretraining", "seeds", "until_decided", "margin", HELD_OUT_LOSS), decided_by_loss


def last_checkpoint(experiment: Experiment) -> int:
    """Return the most tokens from which a longer budget continues the baseline; 0 if its rates are of this budget.

    Within the warm-up no rate depends on the budget, which alone is no place to continue.
    """
    recipe, tokens = experiment.baseline.recipe, experiment.pretraining.tokens
    updates = recipe.steps(tokens)
    total = recipe.tokens_after(updates)
    if recipe.schedule.horizon(total, total) is None:
        return tokens

    def depends(update: int) -> bool:
        return recipe.schedule.horizon(total, recipe.tokens_after(update)) is not None

    last = recipe.tokens_after(max(0, bisect_left(range(updates), True, key=depends) - 1))
    return 0 if last <= recipe.schedule.warmup_tokens else min(tokens, int(last / recipe.token_share))


def checkpoint_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield checkpoints out of order or beyond the schedule's independent part, and those of a policy."""
    settings, recipe = experiment.pretraining, experiment.baseline.recipe
    if settings.checkpoints and experiment.search is not None and experiment.search.policy is not None:
        yield Violation(LOCATION, "candidates of a policy pause at its rungs alone; leave them out")
        return
    last = last_checkpoint(experiment)
    for position, tokens in enumerate(settings.checkpoints):
        where, before = (*LOCATION, position), settings.checkpoints[position - 1] if position else 0
        near = [end for end in settings.stage_ends if end != tokens and recipe.steps(end) == recipe.steps(tokens)]
        if tokens <= before:
            yield Violation(where, f"{tokens} is not above {before}; checkpoints must increase strictly")
        elif tokens >= settings.tokens:
            yield Violation(where, f"{tokens} is not below pretraining.tokens, {settings.tokens}")
        elif near:
            message = f"{tokens} ends with the same update of {recipe.tokens_of_last(tokens)} tokens as {near[0]}"
            yield Violation(where, message)
        elif tokens > last:
            yield Violation(where, f"{tokens}: {_dependence(recipe.schedule.kind, last)}")


def _dependence(schedule: str, last: int) -> str:
    allowed = f"allowed: at most {last}" if last else "constant, inverse_square_root and warmup_stable_decay allow it"
    return f"the rates of the schedule {schedule} depend on the whole budget there; {allowed}"


def continuation_notes(experiment: Experiment) -> Iterator[str]:
    """Yield where a longer budget continues these trainings, for `plan`; nothing where the schedule forbids it."""
    settings, last = experiment.pretraining, last_checkpoint(experiment) if experiment.pretrains else 0
    if settings.checkpoints:
        shared = ", ".join(f"{tokens:,}" for tokens in settings.checkpoints)
        yield f"pretraining: trainings up to {shared} tokens are shared with every budget that has these checkpoints"
    elif last == settings.tokens and last:
        yield f"pretraining: a longer budget with checkpoints: [{last}] continues these trainings"
    elif last:
        yield f"pretraining: with checkpoints: [{last}] here and there, a longer budget continues before the decay"
