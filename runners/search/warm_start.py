"""Warm start: finished candidates of earlier searches of the same space, copied once to this search's ledger."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from runners.search.history import SearchHistory
from runners.search.observations import Observation, shifted_by_baseline
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text, fingerprint
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger, TrialRows
from steeplechase.ledger.facts import EarlierCandidate, EarlierSearch
from steeplechase.tasks.data_folder import with_paths_as_in

WARM_START = "warm_start"
"""Fact in the ledger: finished candidates of other searches."""
COMPARED = ("baseline", "corpus", "tokenizer", "pretraining.tokens", "pretraining.held_out_sequences", "fine_tuning")
SEARCHED = ("space", "structure", "objectives", "constraints")
"""Settings that must be equal for losses of two searches to be comparable."""


def earlier_results(experiment: Experiment) -> JsonValue:
    """Return the finished candidates of the warm-start ledgers, for the fact WARM_START.

    They are copied with their hash, so that later changes of those ledgers have no effect. Raises ConflictError if a
    ledger's settings differ.
    """
    assert experiment.search is not None
    return [_read(experiment, Path(folder)) for folder in experiment.search.warm_start]


def warm_start_observations(
    experiment: Experiment, rows: TrialRows, history: SearchHistory
) -> tuple[Observation, ...]:
    """Return the warm-start observations, which precede those of this search; requires the fact WARM_START.

    None of a search that had other objectives in effect, or other tasks in its score, than this one has now. Other
    searches have other seeds: their values are shifted by the baseline's difference to this search, or to the first
    other search with a finished baseline while this search's is not finished.
    """
    design = experiment.search
    if design is None or not design.warm_start:
        return ()
    documents = rows.fact(WARM_START)
    assert isinstance(documents, list)
    now, baseline = _optimised(history), history.baseline
    alike = (each for each in map(EarlierSearch.model_validate, documents) if each.optimised == now)
    searches = [[_earlier(candidate) for candidate in each.candidates] for each in alike]
    baselines = [next((each for each in search if not each.changes), None) for search in searches]
    target = _final(baseline) if baseline is not None and baseline.complete else next(filter(None, baselines), None)
    return tuple(
        each if target is None or source is None else shifted_by_baseline(each, source, target, history.objectives)
        for search, source in zip(searches, baselines, strict=True)
        for each in search
    )


def _earlier(candidate: EarlierCandidate) -> Observation:
    losses, objectives = tuple(candidate.losses), tuple(candidate.objectives)
    return _final(Observation(candidate.changes, losses, True, objectives, proposed=False))


def _final(observation: Observation) -> Observation:
    """Return an observation with its final loss only: another search may have had other rungs."""
    return replace(observation, losses=observation.losses[-1:])


def _optimised(history: SearchHistory) -> list[str]:
    """Return what a search optimises: its objectives in effect, then the tasks of its score."""
    return [*history.objectives, *history.scored_tasks]


def _read(experiment: Experiment, folder: Path) -> JsonValue:
    with closing(Ledger.at(folder)) as other:
        identity = experiment.identity()
        differing = [*_differences(identity, with_paths_as_in(other.fact("identity"), identity))]
        if differing:
            lines = [f"{folder}: cannot warm-start this search: its settings differ. What differs:"]
            raise ConflictError([*lines, *(f"  {name}" for name in differing)])
        history = SearchHistory(experiment, other)
        finished: list[JsonValue] = [
            {"changes": {**each.changes}, "losses": [*each.losses], "objectives": [*each.objectives]}
            for each in history.observations()
            if each.complete
        ]
    return {"content": fingerprint(finished), "candidates": finished, "optimised": [*_optimised(history)]}


def _differences(identity: JsonValue, other: JsonValue) -> list[str]:
    paths = [*COMPARED, *(f"design.{name}" for name in ("kind", *SEARCHED))]
    return [path for path in paths if canonical_text(_at(identity, path)) != canonical_text(_at(other, path))]


def _at(document: JsonValue, path: str) -> JsonValue:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document
