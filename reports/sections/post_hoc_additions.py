"""What came after results had been seen: which arm and which claim, and how many results there were by then.

The ledger's own order decides, never a clock. A folder of its own says nothing of what was seen elsewhere before it
was begun; there the report says which arms' whole pretraining came from the cache and whose did not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from configuration.claims import Claim
from configuration.stage_label import PRETRAIN, TASK_STAGES
from foundation.schema import JsonValue
from ledger.records import Status
from reports.statistics.experiment import experiment_of, margins_of
from reports.statistics.results import Results

RESULTS = (PRETRAIN, *TASK_STAGES)
"""Stages whose records are results."""


@dataclass(frozen=True)
class Addition:
    """How much was known when an arm or a claim was added."""

    results: int
    """Finished pretrainings and fine-tunings, those of the arm itself not counted."""
    record: int
    """The last record of a trial in the ledger by then."""
    moment: str = ""
    """For the eye alone."""

    def __str__(self) -> str:
        """Return the addition in words."""
        count = f"{self.results} result{'' if self.results == 1 else 's'}"
        return f"after {count} (record {self.record}{f', {self.moment}' if self.moment else ''})"


def arms_added(results: Results) -> dict[str, Addition]:
    """Return the arms that were added after results had been seen, in the table's order."""
    found = {arm.name: _of_arm(results, arm.name, arm.after_record) for arm in results.arms}
    return {arm: addition for arm, addition in found.items() if addition is not None and addition.results}


def claims_added(results: Results) -> dict[str, Addition]:
    """Return the claims, the paper's orderings among them, that came after results, by what they say."""
    whole = results.snapshot
    known = _claimed(whole.first_document) if whole.amendments else set()
    found: dict[str, Addition] = {}
    for amendment in whole.amendments:
        new = _claimed(amendment.document) - known
        count = _count(results, amendment.after_record)
        if count:
            found |= {text: Addition(count, amendment.after_record, amendment.moment) for text in sorted(new)}
        known |= new
    return found


def margins_changed(results: Results) -> Addition | None:
    """Return when the margins by which arms count as level last changed, None where they never did after results."""
    last: Addition | None = None
    before = margins_of(experiment_of(results.snapshot.first_document)) if results.snapshot.amendments else {}
    for amendment in results.snapshot.amendments:
        count = _count(results, amendment.after_record)
        margins = margins_of(experiment_of(amendment.document))
        if margins != before and count:
            last = Addition(count, amendment.after_record, amendment.moment)
        before = margins
    return last


def added_text(results: Results, claim: Claim, text: str) -> str | None:
    """Return the caveat of a claim, None where it and both its arms were there from the start."""
    arms, claims = arms_added(results), claims_added(results)
    parts = [f"the claim {claims[text]}"] if text in claims else []
    parts += [f"{name} {arms[name]}" for name in sorted({claim.first, claim.second}) if name in arms]
    return "; ".join(parts) or None


def addition_notes(results: Results) -> Iterator[str]:
    """Yield what was added after results had been seen, one text for each addition."""
    yield from (f"arm {arm} {addition}" for arm, addition in arms_added(results).items())
    yield from (f"claim {text} {addition}" for text, addition in claims_added(results).items())
    margins = margins_changed(results)
    if margins is not None:
        yield f"margins changed {margins}"


def known_before(results: Results) -> str | None:
    """Return the arms with results when the experiment was begun, None where no arm or every arm had some."""
    cached = {arm: _cached(results, arm) for arm in results.trials}
    known = [arm for arm, whole in cached.items() if whole]
    new = [arm for arm, whole in cached.items() if whole is False]
    if not known or not new:
        return None
    return f"{', '.join(known)} (pretrained for other experiments of this cache), not {', '.join(new)}"


def _claimed(document: Mapping[str, JsonValue]) -> set[str]:
    """Return what a document claims, each claim as it would be written."""
    experiment = experiment_of(document)
    paper = experiment.paper.orderings if experiment.paper else ()
    return {*map(str, experiment.claims), *(f"paper: {text}" for text in paper)}


def _of_arm(results: Results, arm: str, after_record: int) -> Addition | None:
    if after_record:
        moments = [one.moment for one in results.snapshot.amendments if one.after_record == after_record]
        return Addition(_count(results, after_record, arm), after_record, moments[-1] if moments else "")
    cohort = next(row.cohort for row in results.arms if row.name == arm)
    earlier = {row.name for row in results.arms if row.cohort < cohort}
    if earlier:  # ledgers in which arms do not say what they came after
        records = [r for h in results.snapshot.histories if h.trial.arm in earlier for r in h.records]
        last = max((record.sequence for record in records), default=0)
        return Addition(sum(_is_result(r.stage, r.status) for r in records), last)
    return None


def _count(results: Results, after_record: int, arm: str | None = None) -> int:
    """Return how many results the ledger held up to a record, those of an arm not counted."""
    return sum(
        record.sequence <= after_record and _is_result(record.stage, record.status)
        for history in results.snapshot.histories
        if history.trial.arm != arm
        for record in history.records
    )


def _is_result(stage: str, status: Status) -> bool:
    return stage in RESULTS and status is Status.FINISHED


def _cached(results: Results, arm: str) -> bool | None:
    """Whether all of an arm's pretraining came from the cache; None where there is none."""
    records = [record for history in results.trials[arm] for record in history.finished(PRETRAIN)]
    return all(record.reused for record in records) if records else None
