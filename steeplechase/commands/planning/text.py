"""Text form of a plan: arms, impossible points, cached stages, predicted time and disk."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from reports.number_format import duration, scientific
from reports.table import printable
from runners.cost_estimate.prediction import Prediction, Range
from runners.plan import ArmPlan, Plan
from runners.plan_tuning import TuningCost
from runners.remaining import extent_known
from runners.stage_labels import fine_tune_labels
from search_space.cost import Convention
from steeplechase.commands.arguments import Chosen
from steeplechase.commands.planning import published
from steeplechase.commands.planning.costs import gpu_lines, show_timed, source_encoders
from steeplechase.commands.planning.document import Uses, uses_of
from steeplechase.configuration.arm import counting_note
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import WITHOUT_SCALES

REASONS_SHOWN = 5
NUMBERS = ("parameters", "forward", "train FLOPs", "cached")
USES_FROM = 110  # minimum terminal width for the uses of an arm beside its name
NARROWEST = 60
"""Terminal width below which lines are longer than the terminal: the numbers would leave no place for names."""
SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def show_plan(chosen: Chosen, plan: Plan, convention: Convention) -> None:
    """Print the plan."""
    console, experiment = Console(markup=False), chosen.experiment
    console.width = max(console.width, NARROWEST)
    scale = "" if chosen.scale == WITHOUT_SCALES else f" at scale {chosen.scale}"
    heading = f"{experiment.experiment}{scale}, FLOPs by {convention.name}: {experiment.question}"
    console.print(printable(heading), style="bold")
    if chosen.scales:
        console.print(f"scales of this file: {', '.join(chosen.scales)}", highlight=False)
    if plan.unknown:
        lines = "\n".join(f"  {line}" for line in plan.unknown.splitlines())
        console.print(f"{plan.needs}, and `run` needs it:\n{lines}", highlight=False, style="yellow")
    for warning in plan.warnings:
        console.print(f"warning: {printable(warning)}", highlight=False, style="yellow")
    for line in plan.growth:
        console.print(printable(line), highlight=False)
    if experiment.has_trials:
        _show_arms(console, experiment, plan.arms)
        work = (_work(chosen, plan), *_remarks(plan), *_remaining_work(chosen, plan), *gpu_lines(experiment, plan))
        for line in work:
            console.print(line, highlight=False)
    show_timed(console, experiment, convention)
    planned = {row.arm.name for row in plan.arms}
    if rows := [row for row in published.rows(experiment) if row[0] in planned]:
        console.print(_published_table(rows))
    for line in (*published.lines(experiment), *source_encoders(experiment)):
        console.print(line, highlight=False)
    console.print(f"FLOPs counted as {convention.name}: {convention.rule}", style="dim")
    if note := counting_note(row.arm for row in plan.arms):
        console.print(note, style="dim")


def _show_arms(console: Console, experiment: Experiment, arms: Sequence[ArmPlan]) -> None:
    """Print the arms with their numbers; overrides beside the name if they fit, else below."""
    longest = max((len(change) for row in arms for change in _changes(row)), default=0)
    beside = console.measure(_arms_table(arms)).maximum + longest + len(", ") < console.width
    uses = uses_of(experiment) if console.width >= USES_FROM else {}
    console.print(_arms_table(arms, changes=beside, uses=uses))
    if not beside:
        below = Table(box=None, pad_edge=False)
        for title in ("arm", "changes"):
            below.add_column(title, overflow="fold")
        for row in (row for row in arms if row.arm.changes):
            below.add_row(row.arm.name, ", ".join(_changes(row)))
        if below.rows:
            console.print(below)


def _arms_table(arms: Sequence[ArmPlan], *, changes: bool = False, uses: Uses | None = None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("arm", overflow="fold")
    if changes:
        table.add_column("changes")
    for title in NUMBERS:
        table.add_column(title, justify="right", no_wrap=True)
    if uses:
        table.add_column("used in", overflow="fold")
    for row in arms:
        changed = [", ".join(_changes(row)) or "none"] if changes else []
        used = uses[row.arm.name] if uses else {}
        counts = [f"{len(each)} {use}{'' if len(each) == 1 else 's'}" for use, each in used.items()]
        filled = [", ".join(counts)] if uses else []
        table.add_row(row.arm.name, *changed, *_numbers(row), *filled)
    return table


def _published_table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column, title in enumerate(published.COLUMNS):
        table.add_column(title, justify="left" if column < len(("arm", "row")) else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _changes(row: ArmPlan) -> list[str]:
    return [printable(f"{path}: {_short(value)}") for path, value in _with_levels(row).items()]


def _with_levels(row: ArmPlan) -> dict[str, JsonValue]:
    """Return the changes of an arm with the varied fields of an option, also those that equal its default."""
    shown = {**row.arm.changes}
    for path, level in row.arm.levels.items():
        option, _, field = path.rpartition(".")
        inside = shown.get(option)
        if isinstance(inside, dict) and "kind" in inside:
            shown[option] = {**inside, field: level}
    return shown


def _numbers(row: ArmPlan) -> Iterator[str]:
    yield f"{row.parameters:,}"
    yield scientific(row.forward_flops)
    yield scientific(row.train_flops)
    yield "?" if row.cached is None else f"{row.cached}/{row.stages}"


def _work(chosen: Chosen, plan: Plan) -> str:
    experiment, search, shown = chosen.experiment, chosen.experiment.search, len(plan.arms)
    some = f"{shown} of " if shown < len(experiment.arms) else ""
    arms = f"{some}{len(experiment.arms)} arms" if search is None else _searched(search, len(experiment.arms))
    seeds = plan.values_per_cell[0]
    fine_tunings = len(fine_tune_labels(experiment))
    if not experiment.pretrains:
        each = f"{arms} x {seeds} fine-tuning seed{'s' if seeds > 1 else ''} of one checkpoint"
        return f"{each}, {fine_tunings} fine-tuning{'s' if fine_tunings > 1 else ''} each, no pretraining"
    declared = experiment.pretraining.seeds
    more = "" if isinstance(declared, tuple) else f" to {declared.until_decided.max}"
    pretraining = f"{arms} x {seeds}{more} pretraining seed{'s' if seeds > 1 or more else ''}"
    then = f", then {fine_tunings} fine-tuning{'s' if fine_tunings > 1 else ''} each" if fine_tunings else ""
    return f"{pretraining} of {experiment.pretraining.tokens:,} tokens{then}"


def _searched(search: Search, known: int) -> str:
    """Return the maximum number of arms, with the baseline, arms of other designs and repeats."""
    arms = max(known, search.max_candidates)
    named = "the baseline" if known == 1 else f"the baseline, {known - 1} named"
    axes = ", ".join((*search.space, *search.structure))
    return f"at most {arms} arms ({named} and up to {arms - known} candidates over {axes})"


def _remarks(plan: Plan) -> Iterator[str]:
    for name, arm in plan.aliases.items():
        yield f"{name} is the same candidate as {arm}: one row"
    yield from plan.notes
    if plan.tuning is not None:
        yield from _tuning(plan.tuning)
    if plan.impossible:
        first = "; ".join(f"{name}: {reason}" for name, reason, *_ in plan.impossible[:REASONS_SHOWN])
        rest = len(plan.impossible) - REASONS_SHOWN
        more = f"; and {rest} more" if rest > 0 else ""
        left_out = "point is" if len(plan.impossible) == 1 else "points are"
        yield f"{len(plan.impossible)} impossible {left_out} left out. {first}{more}"


def _tuning(plan: TuningCost) -> Iterator[str]:
    yield f"tuning first: every arm at the same {len(plan.points)} recipes ({', '.join(plan.points)})"
    seeds = ", ".join(map(str, plan.seeds))
    trials = (
        f"{plan.arms} arms x {len(plan.points)} points x {len(plan.seeds)} seeds ({seeds}) = {plan.trials} trials"
    )
    spent = f"{plan.trials * plan.tokens:,} tokens, {scientific(plan.train_flops)} FLOPs"
    yield f"it costs {trials} of {plan.tokens:,} tokens: {spent}"
    more = f"at most {plan.arms}" if plan.own_arms is None else plan.own_arms
    yield f"after it {more} arms more, each at its own recipe"


def _remaining_work(chosen: Chosen, plan: Plan) -> Iterator[str]:
    if plan.prediction is None:
        yield f"computed stages, time, disk: unknown, because data are {plan.needs}, as said above"
        return
    parts = (*plan.arms, *((plan.tuning,) if plan.tuning else ()))
    stages = plan.shared_stages + sum(part.stages or 0 for part in parts)
    cached = (plan.shared_cached or 0) + sum(part.cached or 0 for part in parts)
    yield f"computed: {cached} of {stages} stages{extent_known(chosen.experiment)}"
    yield from _predicted(plan.prediction, chosen.experiment, bool(chosen.scales))


def _predicted(prediction: Prediction, experiment: Experiment, scales: bool) -> Iterator[str]:
    if prediction.seconds is None:
        never = ", ".join(prediction.never_measured)
        smallest = ". A run at the smallest scale gives one" if scales else ""
        yield (
            "time, disk: no estimate yet; these stages have not run on this machine at these sizes: "
            f"{never}{smallest}"
            if never
            else f"time, disk: nothing is left to compute{extent_known(experiment)}"
        )
        return
    of_search = ", if no hurdle stops any candidate and all are of the baseline's size"
    bound = extent_known(experiment) if experiment.search is None else of_search
    without = (
        f", without {', '.join(prediction.never_measured)}, which have not run on this machine at these sizes"
        if prediction.never_measured
        else ""
    )
    basis = f"from {prediction.measured} stages measured on this processor{without}"
    if prediction.seconds.is_wide:
        basis += "; some were of other sizes, and the part of their time that does not grow with the size is unknown"
    if prediction.unscaled:
        basis += f"; {', '.join(prediction.unscaled)} are taken to last as before, whatever the size of the data"
    start = prediction.start_seconds
    starts = "" if start is None else f", and about {duration(start)} to start each worker"
    time = amount_text(prediction.seconds, duration)
    yield f"time: {time} of computing{bound}, shared by the workers{starts}; {basis}"
    disk = "unknown" if prediction.bytes is None else amount_text(prediction.bytes, _size)
    yield f"disk: {disk}"


def amount_text(amount: Range, text: Callable[[float], str]) -> str:
    """Return a predicted amount with its bounds, or the bounds alone where they are far apart."""
    if amount.high is not None and amount.low is not None and amount.is_wide:
        return f"between {text(amount.low)} and {text(amount.high)}"
    if amount.low is None or amount.high is None:
        return f"about {text(amount.middle)}"
    bounds = "" if text(amount.low) == text(amount.high) else f" ({text(amount.low)} to {text(amount.high)})"
    return f"about {text(amount.middle)}{bounds}"


def _size(amount: float) -> str:
    unit, name = next(((unit, name) for unit, name in SIZES if amount >= unit), SIZES[-1])
    return f"{amount / unit:.3g} {name}"


def _short(value: JsonValue) -> str:
    if isinstance(value, dict) and "kind" in value:
        rest = ", ".join(f"{name} {inner}" for name, inner in value.items() if name != "kind")
        return f"{value['kind']} ({rest})" if rest else str(value["kind"])
    return canonical_text(value)
