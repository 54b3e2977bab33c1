"""Warm start: what earlier searches of the same space have finished, read once and kept in this search's ledger."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from configuration.experiment import Experiment
from foundation.errors import ConflictError
from foundation.schema import JsonValue, canonical_text, fingerprint
from ledger.database import Ledger, LedgerRows
from runners.search.history import SearchHistory
from runners.search.observations import as_json, at_the_same_seeds, from_json
from runners.search.optuna_sampler import Observation
from tasks.data_folder import with_paths_as_in

WARM_START = "warm_start"
"""The ledger's fact: what other searches have finished."""
COMPARED = ("baseline", "corpus", "tokenizer", "pretraining.tokens", "pretraining.held_out_sequences", "fine_tuning")
SEARCHED = ("space", "objectives", "constraints")
"""What must be equal for two searches' losses to be of the same question."""


def finished_elsewhere(experiment: Experiment) -> JsonValue:
    """Return what the ledgers that the search starts from hold now, to be kept as the fact WARM_START.

    Each is recorded by the hash of what was taken from it, so that a later change there changes nothing here. Raises
    ConflictError where another ledger asks another question.
    """
    assert experiment.search is not None
    return [_taken_from(experiment, Path(folder)) for folder in experiment.search.warm_start]


def warm_seen(experiment: Experiment, rows: LedgerRows, baseline: Observation | None) -> tuple[Observation, ...]:
    """Return what the sampler is given before its own candidates: the fact WARM_START, which must be there.

    Another search has other seeds: its results move as the baseline does from there to here, or to the first of the
    other searches while it is not finished here.
    """
    design = experiment.search
    if design is None or not design.warm_start:
        return ()
    told = rows.fact(WARM_START)
    assert isinstance(told, list)
    sources = [[_end_of(from_json(one)) for one in _candidates(source)] for source in told]
    theirs = [next((one for one in source if not one.changes), None) for source in sources]
    own = _end_of(baseline) if baseline is not None and baseline.complete else next(filter(None, theirs), None)
    return tuple(
        one if own is None or its is None else at_the_same_seeds(one, its, own, design.objectives)
        for source, its in zip(sources, theirs, strict=True)
        for one in source
    )


def _end_of(seen: Observation) -> Observation:
    """Return a finished candidate by its end alone: another search may have had other hurdles on the way there."""
    return replace(seen, losses=seen.losses[-1:])


def _candidates(source: JsonValue) -> list[JsonValue]:
    assert isinstance(source, dict)
    candidates = source["candidates"]
    assert isinstance(candidates, list)
    return candidates


def _taken_from(experiment: Experiment, folder: Path) -> JsonValue:
    with closing(Ledger.at(folder)) as other:
        asked = experiment.identity()
        differing = [*_differences(asked, with_paths_as_in(other.fact("identity"), asked))]
        if differing:
            lines = [f"{folder}: cannot warm-start this search: it asked another question. What differs:"]
            raise ConflictError([*lines, *(f"  {name}" for name in differing)])
        finished = [as_json(one) for one in SearchHistory(experiment, other).seen() if one.complete]
    return {"content": fingerprint(finished), "candidates": finished}


def _differences(mine: JsonValue, its: JsonValue) -> list[str]:
    paths = [*COMPARED, *(f"design.{name}" for name in ("kind", *SEARCHED))]
    return [path for path in paths if canonical_text(_at(mine, path)) != canonical_text(_at(its, path))]


def _at(document: JsonValue, path: str) -> JsonValue:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document
