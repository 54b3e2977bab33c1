"""Differences from the paper, computed from the declaration and the released values."""

from collections.abc import Iterator

from reports.number_format import short
from reports.section import Content, Section
from reports.sections.paper_comparison import paper_rows
from reports.statistics.results import Results
from reports.table import Row, Table, shown, words
from search_space.convolution.option import ConvolutionOption
from search_space.released.differences import departures, options_departing
from search_space.released.models import PRESETS, preset_of
from search_space.released.papers import published
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.released_fine_tuning import fine_tuning_differences, size_of

DEPARTURES = "departures"
EVERY_ARM, NONE = "every arm", "nothing"
ORIGIN = "ELECTRA-Small, arXiv 2003.10555, appendix A"


def _options(results: Results) -> tuple[ConvolutionOption, ...]:
    """Return the options of the arms that differ from the paper's modes of the same names."""
    return options_departing(*(arm.candidate.architecture for arm in results.arms))


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the differences as conditions, for reports without a table of differences.

    Those of corpus, budget and baseline are from the released ELECTRA-Small, whose values are the defaults.
    """
    released, experiment = PRESETS["electra-small"], results.experiment
    if experiment.paper is not None and not experiment.paper.table:
        tokens = experiment.pretraining.tokens
        parts = [f"corpus {experiment.corpus.kind} (ConvBERT: {published().corpora['convbert']['pretraining']})"]
        parts.append(f"{short(tokens)} tokens ({short(released.tokens)})")
        parts.extend(map(str, departures(experiment.baseline, tokens, released)))
        yield "Differences from the papers", f"{', '.join(parts)}; in brackets: {ORIGIN}"
    if paper_rows(results) is None and (options := _options(results)):
        yield "Options that differ from the paper's", "; ".join(option.departure for option in options)


def _rows(results: Results) -> Iterator[Row]:
    for where, differences in _by_arm(results).items():
        yield {"where": where, "what": ", ".join(differences) or NONE}
    paper_table, _ = paper_rows(results) or (None, {})
    by_convberts_code = paper_table is None or paper_table.by_convberts_code
    if by_convberts_code:
        paper_corpus = published().corpora["convbert"]["pretraining"]
        yield {"where": "text", "what": f"{results.experiment.corpus.kind} ({paper_corpus})"}
    if results.tasks and by_convberts_code:
        yield {"where": "fine-tuning", "what": "; ".join(_of_fine_tuning(results)) or NONE}
    for option in _options(results):
        yield {"where": f"convolution {option.kind}", "what": option.departure}
    for assumption in paper_table.assumptions if paper_table is not None else ():
        yield {"where": "assumed", "what": assumption}
    if by_convberts_code:
        yield {"where": "always", "what": "; ".join(published().departure_texts)}


def _by_arm(results: Results) -> dict[str, list[str]]:
    """Return the differences of each arm from the released model of its row; those common to all arms first."""
    paper_table, rows = paper_rows(results) or (None, {})
    tokens = results.experiment.pretraining.tokens
    by_arm: dict[str, list[str]] = {}
    for arm in results.arms:
        released = (
            preset_of(paper_table.rows[rows[arm.name]]) if paper_table is not None and arm.name in rows else None
        )
        if released is not None:
            by_arm[arm.name] = [*map(str, departures(arm.candidate, tokens, released))]
    if len(by_arm) < 2:
        return by_arm
    of_first_arm, *other_arms = by_arm.values()
    common = [each for each in of_first_arm if all(each in others for others in other_arms)]
    by_arm_alone = {arm: [each for each in found if each not in common] for arm, found in by_arm.items()}
    return {EVERY_ARM: common, **{arm: remaining for arm, remaining in by_arm_alone.items() if remaining}}


def _of_fine_tuning(results: Results) -> Iterator[str]:
    """Yield the differences of the declared fine-tuning from the released one: of all tasks, then of single tasks."""
    tuning = results.experiment.fine_tuning
    paper_table, rows = paper_rows(results) or (None, {})
    model = paper_table.rows[rows[BASELINE]].model if paper_table is not None and BASELINE in rows else None
    size = size_of(model)
    by_task = {task: fine_tuning_differences(tuning, task, size) for task in results.tasks}
    of_first_task, *other_tasks = by_task.values()
    common = [each for each in of_first_task if all(each in others for others in other_tasks)]
    yield from map(str, common)
    for task, differences in by_task.items():
        of_this_task = [str(each) for each in differences if each not in common]
        if of_this_task:
            yield f"of {task}: {', '.join(of_this_task)}"


def _content(results: Results) -> Content:
    rows = _rows(results) if paper_rows(results) is not None else ()
    differences = Table.of(DEPARTURES, rows)
    columns = [words("where"), words("this run (the paper)", "what")]
    grids = shown(DEPARTURES, "Differences from the paper", columns, differences.rows)
    return Content(differences.filled, grids)


SECTION = Section(DEPARTURES, _content, conditions=_conditions)
