"""Post-hoc changes: arms and claims added or left out after results were in the ledger, and how many there were then.

The order of records in the ledger decides, not a clock. Results of other experiments are not in the ledger; for these
the report lists the arms whose pretraining came entirely from the stage cache.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reports.number_format import counted
from reports.section import Section
from reports.statistics.experiment import experiment_of, margins_of
from reports.statistics.results import Results
from steeplechase.configuration.claims import Claim, parse_orderings
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.stage_label import PRETRAIN, TASK_STAGES
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.records import Status

RESULTS = (PRETRAIN, *TASK_STAGES)
"""Stages whose records are results."""
POINTS_SHOWN = 3

DECIDING: Mapping[str, Callable[[Experiment], object]] = {
    "margins": margins_of,
    "metrics of the paper's orderings": lambda experiment: experiment.paper.metrics if experiment.paper else (),
    "headline metrics": lambda experiment: experiment.headline_metrics,
    "target loss": lambda experiment: experiment.target_loss,
    "comparison": lambda experiment: experiment.comparison,
    "pretraining seeds": lambda experiment: experiment.pretraining.seeds,
    "fine-tuning seeds": lambda experiment: experiment.fine_tuning.seeds,
    "downstream tasks": lambda experiment: sorted(experiment.fine_tuning.tasks),
}
"""Parts of an experiment that decide verdicts, and of which the last change after results is reported, by name."""


@dataclass(frozen=True)
class Addition:
    """The results in the ledger when an arm or a claim was added."""

    results: int
    """Finished pretrainings and fine-tunings of other arms, the fewest: one with a metric more counts later."""
    record: int
    """The last record of a trial at that time."""
    moment: str = ""
    """Displayed only."""

    def __str__(self) -> str:
        """Return the addition in words."""
        moment = f", {self.moment}" if self.moment else ""
        return f"after at least {counted(self.results, 'result')} (record {self.record}{moment})"


def _arms_added(results: Results) -> dict[str, Addition]:
    """Return the arms added after results, in the table's order."""
    additions = {arm.name: _addition_of_arm(results, arm.name, arm.after_record) for arm in results.arms}
    return {arm: addition for arm, addition in additions.items() if addition is not None and addition.results}


def _claims_added(results: Results) -> dict[str, Addition]:
    """Return the claims and orderings of the paper added after results, by their latest text."""
    versions = _versions(results, _claims_by_candidates)
    earlier = {*versions[0]} if versions else set()
    additions: dict[str, Addition] = {}
    for version, amendment in zip(versions[1:], results.snapshot.amendments, strict=False):
        texts = sorted(versions[-1].get(same, version[same]) for same in version.keys() - earlier)
        if count := _count(results, amendment.after_record):
            additions |= dict.fromkeys(texts, Addition(count, amendment.after_record, amendment.moment))
        earlier |= version.keys()
    return additions


def _last_change(results: Results, part: Callable[[Experiment], object]) -> Addition | None:
    """Return the last change of a part after results; None without one."""
    last: Addition | None = None
    before = part(experiment_of(results.snapshot.first_document)) if results.snapshot.amendments else None
    for amendment in results.snapshot.amendments:
        count, declared = _count(results, amendment.after_record), part(experiment_of(amendment.document))
        if declared != before and count:
            last = Addition(count, amendment.after_record, amendment.moment)
        before = declared
    return last


def _versions(results: Results, declared: Callable[[Experiment], Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the names that every version declares, by what makes two of them the same; none of a single version."""
    first, later = results.snapshot.first_document, results.snapshot.amendments
    documents = (first, *(amendment.document for amendment in later)) if later else ()
    return [declared(experiment_of(document)) for document in documents]


def _left_out(results: Results, declared: Callable[[Experiment], Mapping[str, str]]) -> dict[str, Addition]:
    """Return by name what an earlier version declares and the latest one does not, if it was left out after results.

    `declared` gives names by what makes two of them the same.
    """
    versions = [] if results.is_search else _versions(results, declared)
    left: dict[str, Addition] = {}
    for before, after, amendment in zip(versions, versions[1:], results.snapshot.amendments, strict=False):
        if count := _count(results, amendment.after_record):
            gone = before.keys() - after.keys() - versions[-1].keys()
            addition = Addition(count, amendment.after_record, amendment.moment)
            left |= {name: addition for same, name in before.items() if same in gone}
    return left


def _arms_by_identity(experiment: Experiment) -> Mapping[str, str]:
    return {arm.identity: arm.name for arm in experiment.accepted_arms}


def _claims_by_candidates(experiment: Experiment) -> Mapping[str, str]:
    """Return the texts of claims and the paper's orderings by what they say of candidates, under any name."""
    candidates = {arm.name: arm.identity for arm in experiment.accepted_arms}

    def same(*said: object, arms: Iterable[str]) -> str:
        return canonical_text([*map(str, said), *(candidates.get(name, name) for name in arms)])

    found = {same(each.metric, each.sign, each.size, arms=each.arms): str(each) for each in experiment.claims}
    for chain in experiment.paper.orderings if experiment.paper else ():
        orderings = parse_orderings(chain)
        arms = (name for each in orderings for name in (each.first, each.second))
        found[same(*(each.level for each in orderings), arms=arms)] = f"paper: {chain}"
    return found


def added_text(results: Results, claim: Claim, text: str) -> str | None:
    """Return the caveat of a claim; None if it and both its arms were declared before any result."""
    arms, claims = results.once(_arms_added), results.once(_claims_added)
    parts = [f"the claim {claims[text]}"] if text in claims else []
    parts += [f"{name} {arms[name]}" for name in sorted({claim.first, claim.second}) if name in arms]
    return "; ".join(parts) or None


def _deciding_changes(results: Results) -> dict[str, Addition]:
    """Return the last change after results of every part that decides verdicts, by the part's name."""
    changes = {name: _last_change(results, part) for name, part in DECIDING.items()}
    return {name: change for name, change in changes.items() if change is not None}


def _clauses(results: Results) -> Iterator[str]:
    """Yield that verdicts are exploratory, where what decides them was changed after results."""
    reasons = [f"{' and '.join(changes)} changed after results"] if (changes := _deciding_changes(results)) else []
    if gone := _left_out(results, _arms_by_identity):
        reasons.append(f"{counted(len(gone), 'arm')} {'was' if len(gone) == 1 else 'were'} left out after results")
    if reasons:
        yield f"the verdicts are exploratory, since {', and '.join(reasons)}"


def _known_before(results: Results) -> str:
    """Return the arms whose results existed before the experiment started; empty if no arm or every arm had some."""
    by_arm: dict[str, bool] = {}
    for arm, histories in results.trials.items():
        records = [record for history in histories for record in history.finished(PRETRAIN)]
        by_arm |= {arm: all(record.reused for record in records)} if records else {}
    with_results = [arm for arm, is_cached in by_arm.items() if is_cached]
    without_results = [arm for arm, is_cached in by_arm.items() if not is_cached]
    if not with_results or not without_results:
        return ""
    cached = f"{', '.join(with_results)} (found finished in the stage cache)"
    return f"{cached}, not {', '.join(without_results)}"


def _addition_of_arm(results: Results, arm: str, after_record: int) -> Addition | None:
    if after_record:
        moments = [
            amendment.moment for amendment in results.snapshot.amendments if amendment.after_record == after_record
        ]
        return Addition(_count(results, after_record, arm), after_record, moments[-1] if moments else "")
    return None


def _count(results: Results, after_record: int, arm: str | None = None) -> int:
    """Return the number of results up to a record, without those of an arm."""
    return sum(
        record.sequence <= after_record and _is_result(record.stage, record.status)
        for history in results.snapshot.histories
        if history.trial.arm != arm
        for record in history.records
    )


def _is_result(stage: str, status: Status) -> bool:
    return stage in RESULTS and status is Status.FINISHED


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield results from before the start, arms and claims added after results, and points left out."""
    points = results.snapshot.impossible
    if not results.is_search:
        yield "Results before the start", _known_before(results)
        added = [f"arm {arm} {addition}" for arm, addition in results.once(_arms_added).items()]
        added += [f"claim {text} {addition}" for text, addition in results.once(_claims_added).items()]
        added += [f"{name} changed {change}" for name, change in _deciding_changes(results).items()]
        yield "Added after results", "; ".join(added)
        gone = [f"arm {arm} {addition}" for arm, addition in _left_out(results, _arms_by_identity).items()]
        gone += [f"claim {text} {addition}" for text, addition in _left_out(results, _claims_by_candidates).items()]
        yield "Left out after results", "; ".join(gone)
    if points:
        examples = "; ".join(f"{name}: {', '.join(reasons)}" for name, *reasons in points[:POINTS_SHOWN])
        more = "; …" if len(points) > POINTS_SHOWN else ""
        yield "Impossible points left out", f"{len(points)}: {examples}{more}"


SECTION = Section("post_hoc_additions", clauses=_clauses, conditions=_conditions)
