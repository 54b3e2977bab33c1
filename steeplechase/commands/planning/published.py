"""Comparison of a plan with published models: the recipe of every arm, its costs, and those of the published row.

FLOPs are in ELECTRA's convention, independent of `--flops`, because the published ones are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.number_format import scientific
from search_space.cost import CONVENTIONS
from search_space.released.differences import Difference, departures, options_departing, recipe_text
from search_space.released.models import costs_of, preset_of
from search_space.released.papers import PublishedRow, published
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import is_frozen
from steeplechase.configuration.released_fine_tuning import released_fine_tunings, settings_texts, size_of
from steeplechase.foundation.schema import JsonValue

ELECTRA = CONVENTIONS["electra"]
UNFOUND, RELEASED = "not found", "released"
OUR_LAYOUT = "counted_ours"
"""Source of the counts of options that no release contains."""


@dataclass(frozen=True)
class PublishedComparison:
    """One arm and its published row."""

    arm: str
    row: str
    published: PublishedRow
    parameters: int
    train_flops: int
    """In ELECTRA's convention."""
    departures: tuple[Difference, ...]
    """From the recipe of the published row; empty if that is unknown."""


def published_comparisons(experiment: Experiment) -> tuple[PublishedComparison, ...]:
    """Return the arms with a published row, in the order of the table."""
    paper = experiment.paper
    if paper is None or paper.table is None:
        return ()
    rows, tokens = published().tables[paper.table].rows, experiment.pretraining.tokens
    comparisons = []
    for arm in experiment.arms:
        if arm.name in paper.rows:
            name = paper.rows[arm.name]
            released = preset_of(rows[name])
            flops = arm.candidate.train_flops(tokens, experiment.baseline.architecture, ELECTRA)
            differences = () if released is None else departures(arm.candidate, tokens, released)
            parameters = arm.candidate.parameters
            comparisons.append(PublishedComparison(arm.name, name, rows[name], parameters, flops, differences))
    return tuple(comparisons)


def recipes(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    """Return the distinct recipes of the experiment with their arms; none without pretraining."""
    if not experiment.pretrains:
        return {}
    arms_by_recipe: dict[str, tuple[str, ...]] = {}
    for arm in experiment.arms:
        recipe = recipe_text(arm.candidate, experiment.pretraining.tokens)
        arms_by_recipe[recipe] = (*arms_by_recipe.get(recipe, ()), arm.name)
    return arms_by_recipe


COLUMNS = ("arm", "the paper's row", "parameters", "published", "train FLOPs by ELECTRA's count", "published")


def rows(experiment: Experiment) -> Iterator[tuple[str, ...]]:
    """Yield the cells of every published row, in the order of `COLUMNS`."""
    for comparison in published_comparisons(experiment):
        row, (parameters, flops) = comparison.published, costs_of(comparison.published)
        whose = "our count of our layout" if row.source_of("parameters") == OUR_LAYOUT else RELEASED
        counts = _known_and_printed(None if parameters is None else f"{parameters:,}", row.printed_parameters, whose)
        costs = _known_and_printed(
            None if flops is None else scientific(round(flops)), row.printed_train_flops, RELEASED
        )
        measured = f"{comparison.parameters:,}", scientific(comparison.train_flops)
        yield comparison.arm, comparison.row, measured[0], counts, measured[1], costs


def lines(experiment: Experiment) -> Iterator[str]:
    """Yield lines for the terminal: the recipes, and their differences from the release."""
    arms_by_recipe = recipes(experiment)
    for recipe, arms in arms_by_recipe.items():
        yield f"{'every arm' if len(arms_by_recipe) == 1 else ', '.join(arms)}: {recipe}"
    comparisons = published_comparisons(experiment)
    yield from _differences_text("training", {comparison.arm: comparison.departures for comparison in comparisons})
    yield from _fine_tunings(experiment)
    if experiment.paper is not None:
        size = _size(experiment)
        fine_tunings = released_fine_tunings(experiment.fine_tuning, size)
        by_tasks = {", ".join(each.tasks): each.differences for each in fine_tunings}
        yield from _differences_text("fine-tuning", by_tasks if size is not None else {})
        yield from _options(experiment)
        yield from (_values_text(each) for each in comparisons if each.published.values)
        assumptions = published().tables[experiment.paper.table].assumptions if experiment.paper.table else ()
        yield from (f"assumed: {each}" for each in assumptions)


def _fine_tunings(experiment: Experiment) -> Iterator[str]:
    """Yield the fine-tuning settings of every task, then those of arms that change the baseline's."""
    tuning, names = experiment.fine_tuning, dict[str, tuple[str, ...]]()
    for arm in experiment.arms:
        for settings, tasks in settings_texts(tuning, arm.candidate.fine_tuning.values).items():
            method = "frozen encoder on" if is_frozen(tuning, tasks[0]) else "fine-tuning of"
            line = f"{method} {', '.join(tasks)}: {settings}"
            names[line] = (*names.get(line, ()), arm.name)
    for line, arms in names.items():
        yield line if BASELINE in arms else f"{', '.join(arms)}: {line}"


def _options(experiment: Experiment) -> Iterator[str]:
    """Yield the differences of the arms' options from the paper's options of the same name."""
    for each in options_departing(*(arm.candidate.architecture for arm in experiment.arms)):
        yield f"convolution {each.kind} differs from the paper's: {each.departure}"


def _differences_text(what: str, differences: Mapping[str, tuple[Difference, ...]]) -> Iterator[str]:
    """Yield the common differences once, then the additional ones of each."""
    if not differences:
        return
    first, *others = differences.values()
    common = tuple(each for each in first if all(each in other for other in others))
    if common or not any(differences.values()):
        yield f"{what} departs from the release in: {', '.join(map(str, common)) or 'nothing declared'}"
    for name, own in differences.items():
        if rest := [each for each in own if each not in common]:
            yield f"{what} of {name} departs{' further' if common else ''} in: {', '.join(map(str, rest))}"


def _values_text(comparison: PublishedComparison) -> str:
    """Return the published scores of a row with their sources, as the paper prints them."""
    row = comparison.published
    by_source: dict[str, list[str]] = {}
    for column, value in row.values.items():
        by_source.setdefault(row.source_of(column), []).append(f"{column} {value}")
    texts = (f"{', '.join(values)} ({published().sources[source]})" for source, values in by_source.items())
    return f"published of {comparison.arm}, {comparison.row}: {'; '.join(texts)}"


def _size(experiment: Experiment) -> str | None:
    """Return the size whose fine-tuning settings the baseline has; None if they are not those of ConvBERT's code."""
    paper = experiment.paper
    if paper is not None and paper.table is not None and not published().tables[paper.table].by_convberts_code:
        return None
    row = None if paper is None or paper.table is None else paper.rows.get(BASELINE)
    model = None if row is None or paper is None else published().tables[str(paper.table)].rows[row].model
    return size_of(model)


def _known_and_printed(known: str | None, printed: str | None, whose: str) -> str:
    """Return a model's value with its source, and the rounded value that the paper prints."""
    parts = [*([f"{whose} {known}"] if known else []), *([f"printed {printed}"] if printed else [])]
    return ", ".join(parts) or UNFOUND


def document(experiment: Experiment) -> JsonValue:
    """Return the same as a JSON document."""
    return {
        "recipes": [{"arms": [*arms], "recipe": recipe} for recipe, arms in recipes(experiment).items()],
        "fine_tuning": [
            {
                "tasks": [*fine_tuning.tasks],
                "taught": fine_tuning.settings_text,
                "departures": [str(difference) for difference in fine_tuning.differences],
            }
            for fine_tuning in released_fine_tunings(experiment.fine_tuning, _size(experiment))
        ],
        "rows": [_row(comparison) for comparison in published_comparisons(experiment)],
    }


def _row(comparison: PublishedComparison) -> JsonValue:
    parameters, flops = costs_of(comparison.published)
    return {
        "arm": comparison.arm,
        "row": comparison.row,
        "source": published().sources[comparison.published.source],
        "parameters": comparison.parameters,
        "published_parameters": parameters,
        "printed_parameters": comparison.published.printed_parameters,
        "train_flops": comparison.train_flops,
        "published_train_flops": flops,
        "printed_train_flops": comparison.published.printed_train_flops,
        "published_values": {**comparison.published.values},
        "departures": [str(each) for each in comparison.departures],
    }
