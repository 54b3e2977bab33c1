"""A search takes more candidates in its results folder where it would have decided as it has, and says why not."""

from pathlib import Path
from typing import Any

import pytest

from runners.opening import growth_lines, stages_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.paths import ResultPaths
from tests.factories import simulated_training as simulated
from tests.factories.grown_studies import Study

LESS = "design.max_candidates: less than the 8 that were declared"
OTHER_COHORT = "design.max_candidates: cohort 1 had 2 of the 4 candidates that it would have"
AUDITED = "pretraining.audit: its trials were drawn among those of 4 candidates"
BEST = "design.finalists: without them the best of 4 candidates was trained to the end, once"


@pytest.mark.parametrize(
    ("before", "after", "hurdle", "audit", "reason"),
    [
        (4, 8, "top_fraction", 0.0, None),  # whose best finishes
        (4, 8, "progressive_mean", 0.0, BEST),
        (6, 8, "progressive_mean", 0.0, OTHER_COHORT),
        (8, 4, "progressive_mean", 0.0, LESS),
        (4, 8, "progressive_mean", 0.5, AUDITED),
    ],
)
def test_a_search_takes_more_candidates_where_its_decisions_stay_the_same(
    tmp_path: Path, before: int, after: int, hurdle: str, audit: float, reason: str | None
) -> None:
    def of(count: int, **design: Any) -> Experiment:
        drawn = {"share": audit} if audit else None
        pretraining = {"tokens": 2560, "seeds": [1], "hurdle": {**simulated.HURDLES, "kind": hurdle}, "audit": drawn}
        return simulated.search(
            tmp_path, design={**simulated.SEARCH, "max_candidates": count, **design}, pretraining=pretraining
        )

    here = Study(tmp_path)
    here.run(of(before))
    if reason is not None:
        for design in ({}, {"finalists": {"count": 1, "seeds": 2}}):
            with pytest.raises(ConflictError) as refused:
                here.run(of(after, **design))
            assert f"  design.max_candidates: {before} there, {after} here" in refused.value.lines
            assert f"  {reason}" in refused.value.lines
            assert refused.value.lines[-1].endswith("candidates and finalists may be added where no decision changes")
        return
    paths, grown = ResultPaths.of(tmp_path / "results"), of(after)
    (told,) = growth_lines(paths, grown, stages_of(grown), "")
    assert told.endswith(f"goes on there: {before} of its trials are kept")
    found, whole = here.run(grown), Study(tmp_path / "whole").run(of(after))
    assert found is not None
    assert whole is not None
    assert simulated.found(found) == simulated.found(whole)
    assert len(here.computed) == len({*here.computed})
