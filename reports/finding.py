"""The finding of a report: one sentence that joins the clauses of its sections, computed from the results."""

from collections.abc import Iterator

from reports.number_format import counted
from reports.sections import CLAUSES, in_order
from reports.sections.best_candidate import search_finding
from reports.sections.failures import failures_clause
from reports.sections.task_pilot import pretraining_sentence
from reports.statistics.evidence import Evidence
from reports.statistics.experiment import experiment_of
from reports.statistics.objectives import title_of
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.configuration.metrics import SCORE
from steeplechase.ledger.records import NOT_ENDED
from steeplechase.ledger.snapshot import FinalComparison, Snapshot


def finding_of(searched: Evidence, compared: Evidence, snapshot: Snapshot) -> str:
    """Return the finding at the shared recipe, what pretraining is worth, own recipes if tuned, and further ones.

    `compared` is the final comparison of a search, which then comes first, and otherwise the same as `searched`.
    """
    further = [section.sentence(searched) for section in in_order((), searched)]
    return " ".join(filter(None, [*(_of_trials(searched, compared, snapshot)), *further]))


def _of_trials(searched: Evidence, compared: Evidence, snapshot: Snapshot) -> Iterator[str]:
    results, final = searched.results, snapshot.final
    if not results.experiment.has_trials:
        return
    if final is not None and final.plan.declared:
        count = counted(len(final.plan.seeds), "seed")
        where = f"Beside the baseline at {count} that the search had not used: "
        yield chosen_sentence(snapshot) + where + results_finding(compared)
        yield search_finding(results, compared=True) + pretraining_sentence(results)
        return
    own = _own_recipes(searched.own_recipes)
    yield results_finding(searched) + pretraining_sentence(results) + _scope(results) + own
    if final is not None:
        names, seeds = ", ".join(final.plan.finalists), "the seed" if len(final.plan.seeds) == 1 else "the seeds"
        how = f"{names}, the best at its last rung, was trained on at {seeds} of the search"
        yield f"No candidate had finished; {how}: {results_finding(compared)}"


def results_finding(evidence: Evidence, without: str = "") -> str:
    """Return the finding at one recipe: a search's best candidate, or what the sections say.

    `without` is the name of a section that says nothing here.
    """
    results = evidence.results
    failed = failures_clause(results)
    if results.is_search:
        return f"{search_finding(results)} {failed[0].upper()}{failed[1:]}." if failed else search_finding(results)
    total = max(len(results.snapshot.histories), len(results.arms) * results.seeds_in_all)
    ended = sum(history.status not in NOT_ENDED for history in results.snapshot.histories)
    if not results.measured_headlines and not results.below_reference:
        why = f"; {failed}" if failed else ""
        ended_how = f"{ended} of {total} trials have ended, and none was measured at the end of its budget"
        return f"No result yet: {ended_how}{why}."
    said = (section for section in in_order(CLAUSES, evidence) if section.name != without)
    clauses = (clause for section in said for clause in section.clauses(evidence))
    sentence = "; ".join(filter(None, clauses)) + "."
    if ended < total:
        return f"So far, with {ended} of {total} trials ended: {sentence}"
    return sentence[0].upper() + sentence[1:]


def chosen_sentence(snapshot: Snapshot) -> str:
    """Return which candidates of a search are compared at the end, and with what changes; empty without them."""
    final = snapshot.final
    if final is None or not final.plan.finalists:
        return ""
    candidates = len(snapshot.arms) - 1
    named = "; ".join(f"{name}: {changes_text(changes)}" for name, changes in final.plan.finalists.items())
    ablated = f" The arms beside them ablate {final.winner}, the best of them." if _has_ablation(final) else ""
    return f"Of {counted(candidates, 'candidate')} the search chose{_by(snapshot, final)} {named}.{ablated} "


def _by(snapshot: Snapshot, final: FinalComparison) -> str:
    """Return what finalists were chosen by, where that is not what is declared; older ledgers took every task."""
    search = experiment_of(snapshot.document).search
    declared = () if search is None else search.objectives
    if not final.plan.ranked_by:
        return " by the mean over all tasks" if SCORE in declared else ""
    changed = final.plan.ranked_by != declared
    return f" by {' and '.join(map(title_of, final.plan.ranked_by))}" if changed else ""


def _has_ablation(final: FinalComparison) -> bool:
    return any(arm.final_of not in (BASELINE, *final.plan.finalists) for arm in final.arms)


def _scope(results: Results) -> str:
    """Return what the seeds allow to be claimed where nothing is pretrained; empty with pretraining."""
    if results.experiment.pretrains:
        return ""
    holds = "what differs, differs for these checkpoints, not for others that are pretrained in the same way"
    return f" n counts {results.replicates}: {holds}."


def _own_recipes(own: Results | None) -> str:
    """Return the finding at own recipes as a second sentence; empty before the selection."""
    if own is None or own.snapshot.tuning is None:
        return ""
    if all(choice.point == 0 for choice in own.snapshot.tuning.choices):
        return " For every arm tuning selected the shared recipe."
    sentence = results_finding(Evidence(own), without="isolated")
    return f" With every arm at its own recipe: {sentence[0].lower()}{sentence[1:]}"
