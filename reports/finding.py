"""The finding of a report: statements computed from the results, one for each clause of its sections.

Beside it the box of what a report cannot say, of size, tokens, passes over the text, margins and references.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reports.claim_row import scope_text
from reports.number_format import counted, sentence_of
from reports.sections import CLAUSES, in_order
from reports.sections.best_candidate import search_finding
from reports.sections.failures import diverged_clause, failures_clause
from reports.sections.task_pilot import pretraining_sentence
from reports.statistics.arm_costs import costs_of
from reports.statistics.experiment import experiment_of, margins_of
from reports.statistics.objectives import title_of
from reports.statistics.results import Results
from steeplechase.analysis.proportions import unseen_at_most
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.configuration.final_comparison import changes_by_axis, components_of
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.seeds import SeedsUntilDecided
from steeplechase.ledger.records import NOT_ENDED
from steeplechase.ledger.snapshot import FinalComparison, Snapshot, Tuning


def finding_of(searched: Results, compared: Results, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the finding at the shared recipe, what pretraining is worth, own recipes if tuned, and further ones.

    `compared` is the final comparison of a search, which then comes first, and otherwise the same as `searched`.
    """
    further = (section.sentence(searched) for section in in_order((), searched))
    return tuple(filter(None, [*_of_trials(searched, compared, snapshot), *further]))


def _of_trials(results: Results, compared: Results, snapshot: Snapshot) -> Iterator[str]:
    final = snapshot.final
    if not results.experiment.has_trials:
        return
    if final is not None and final.plan.declared:
        count = counted(len(final.plan.seeds), "seed")
        yield from chosen_sentences(snapshot)
        yield from _after(f"Beside the baseline at {count} that the search had not used", results_finding(compared))
        yield from search_finding(results, compared=True)
        yield pretraining_sentence(results)
        return
    yield from results_finding(results)
    yield pretraining_sentence(results)
    if not results.experiment.pretrains:
        holds = "what differs, differs for these checkpoints, not for others that are pretrained in the same way"
        yield f"n counts {results.replicates}: {holds}."
    if (own := results.own_recipes) is not None and own.snapshot.tuning is not None:
        yield from _own_recipes(own, own.snapshot.tuning)
    if final is not None:
        names, seeds = ", ".join(final.plan.finalists), "the seed" if len(final.plan.seeds) == 1 else "the seeds"
        how = f"{names}, the best at its last rung, was trained on at {seeds} of the search"
        yield from _after(f"No candidate had finished; {how}", results_finding(compared))


def _own_recipes(own: Results, tuning: Tuning) -> Iterator[str]:
    """Yield the finding at own recipes, and the arms of which no point is without a diverged seed."""
    lost = [choice.arm for choice in tuning.choices if all(value is None for value in choice.values)]
    if lost:
        yield f"In tuning a seed of every point diverged, so that the shared recipe stays: {', '.join(lost)}."
    if tuning.has_selected:
        yield from _after("With every arm at its own recipe", results_finding(own, without="isolated"))
    elif len(lost) < len(tuning.choices):
        yield f"For every {'other ' if lost else ''}arm tuning selected the shared recipe."


def _after(where: str, statements: Iterable[str]) -> Iterator[str]:
    """Yield the statements, the first one behind where they hold."""
    first, *others = statements
    yield f"{where}: {first[0].lower()}{first[1:]}"
    yield from others


def results_finding(results: Results, without: str = "") -> tuple[str, ...]:
    """Return the finding at one recipe: a search's best candidate, or what the sections say.

    `without` is the name of a section that says nothing here.
    """
    failed = failures_clause(results)
    if results.is_search:
        return (*search_finding(results), *([sentence_of(failed)] if failed else []))
    ended, total = _ended(results)
    if not (results.measured_headlines or results.below_reference or results.none_learns):
        why = "".join(f"; {reason}" for reason in (diverged_clause(results), failed) if reason)
        yet = "" if ended == total > 0 and not failed else " yet"
        ended_how = "no trial has begun"
        if total:
            ended_how = f"{ended} of {total} trials have ended, and none was measured at the end of its budget"
        return (f"No result{yet}: {ended_how}{why}.",)
    said = (section for section in in_order(CLAUSES, results) if section.name != without)
    clauses = (clause for section in said for clause in section.clauses(results))
    return so_far(results, tuple(map(sentence_of, filter(None, clauses))))


def so_far(results: Results, statements: tuple[str, ...]) -> tuple[str, ...]:
    """Return the statements; of an unfinished run the first one behind how many trials have ended."""
    ended, total = _ended(results)
    if ended == total or not statements:
        return statements
    return tuple(_after(f"So far, with {ended} of {total} trials ended", statements))


def _ended(results: Results) -> tuple[int, int]:
    """Return how many trials have ended, and of how many."""
    total = max(len(results.snapshot.histories), len(results.arms) * results.seeds_in_all)
    return sum(history.status not in NOT_ENDED for history in results.snapshot.histories), total


def chosen_sentences(snapshot: Snapshot) -> tuple[str, ...]:
    """Return which candidates of a search are compared at the end, and with what changes; empty without them."""
    final = snapshot.final
    if final is None or not final.plan.finalists:
        return ()
    candidates = len(snapshot.arms) - 1
    named = "; ".join(f"{name}: {changes_text(changes)}" for name, changes in final.plan.finalists.items())
    chosen = f"Of {counted(candidates, 'candidate')} the search chose{_by(snapshot, final)} {named}."
    if all(arm.final_of in (BASELINE, *final.plan.finalists) for arm in final.arms):
        return (chosen, *_nothing_ablated(snapshot, final))
    return chosen, f"The arms beside them ablate {final.winner}, the best of them."


def _nothing_ablated(snapshot: Snapshot, final: FinalComparison) -> Iterator[str]:
    """Yield why a search that ablates its winner has no arms for that."""
    experiment = experiment_of(snapshot.document)
    search = experiment.search
    if search is None or search.ablate_winner is None or not snapshot.over:
        return
    if final.winner is None:
        yield "No finalist finished at all of its seeds, so that there is no winner to ablate."
        return
    changes = changes_by_axis(search, experiment.baseline, final.plan.finalists[final.winner])
    if len(components_of(changes)) < 2:
        yield f"{final.winner}, the best of them, has one change from the baseline: there is nothing to ablate."


def _by(snapshot: Snapshot, final: FinalComparison) -> str:
    """Return what finalists were chosen by, where that is not what is declared; older ledgers took every task."""
    search = experiment_of(snapshot.document).search
    declared = () if search is None else search.objectives
    if not final.plan.ranked_by:
        return " by the mean over all tasks" if SCORE in declared else ""
    changed = final.plan.ranked_by != declared
    return f" by {' and '.join(map(title_of, final.plan.ranked_by))}" if changed else ""


def limits_of(results: Results) -> str:
    """Return the sentences of the box: of a finished table of pretrained arms, then what the sections say."""
    said = [*_of_pretraining(results)] if results.arms and results.experiment.pretrains else []
    return " ".join([*said, *(limit for section in in_order((), results) for limit in section.limits(results))])


def _of_pretraining(results: Results) -> Iterator[str]:
    positions = dict.fromkeys(arm.candidate.architecture.position.kind for arm in results.arms)
    names = ", ".join(position.replace("_", " ") for position in positions)
    yield (
        f"Whether other sizes, texts or budgets give the same order: the models have "
        f"{scope_text(results, [arm.name for arm in results.arms])}, {names} positions, and one split of one text."
    )
    yield from _of_compute(results)
    if margins := margins_of(results.experiment):
        named = ", ".join(f"{value:g} on {metric}" for metric, value in margins.items())
        yield f"What counts as level: the margins ({named}) are the experiment's own, from no paper."
    if below := results.below_reference:
        yield f"Anything of {', '.join(below)}: the arms do not exceed references that need no model."
    ended, total = _ended(results)
    if ended < total and not isinstance(results.experiment.pretraining.seeds, SeedsUntilDecided):
        yield f"What all {total} trials will: {ended} have ended, and the corrections are for one look, at the end."
    if seeds := results.seeds_in_all:
        share = 100 * unseen_at_most(seeds)
        yield f"How often a run fails: what did not happen in {seeds} may happen in up to {share:.0f}% of runs (95%)."


def _of_compute(results: Results) -> Iterator[str]:
    """Yield how far the tokens and FLOPs of arms are from the baseline's; nothing where the FLOPs are equal."""
    budget = results.experiment.pretraining.tokens
    tokens = _as_ratios({arm.name: arm.candidate.recipe.own_tokens(budget) for arm in results.arms})
    flops = _as_ratios({arm.name: costs_of(results, arm).train_flops for arm in results.arms})
    if len(flops) > 1:
        times = f"{tokens[0]} to {tokens[-1]} times " if len(tokens) > 1 else ""
        spent = f"{flops[0]} to {flops[-1]} times its pretraining FLOPs"
        yield f"Which arm is best at equal compute: arms have {times}the baseline's tokens, and {spent}."


def _as_ratios(of_arms: Mapping[str, int]) -> Sequence[str]:
    """Return the ratios to the baseline's value to three digits, ascending and without repetitions."""
    unit = of_arms.get(BASELINE)
    return [*dict.fromkeys(f"{value / unit:.3g}" for value in sorted(of_arms.values()))] if unit else []
