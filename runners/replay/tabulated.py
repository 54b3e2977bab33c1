"""A tabulated space: the recorded curves of every candidate, by its point on the axes and genes of a search.

The table is a finished search of the whole space (`sampler: brute_force`), or its export in the plain format.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runners.replay.curves.recorded import Numbers, RecordedCurves
from runners.search.encoding import point_of
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import DataError

BASELINE_KEY = "baseline"
"""Of the first line of the plain format: the declared candidate of the search that filled the table."""


@dataclass(frozen=True)
class Table:
    """The curves of a space; a candidate's configuration is its point."""

    curves: RecordedCurves

    def losses(self, experiment: Experiment, candidate: Candidate, tokens: Sequence[int]) -> Numbers:
        """Return a candidate's losses at some tokens [points]. Raises DataError if the table lacks it."""
        assert experiment.search is not None
        point = point_of(experiment.search, candidate)
        row = self._rows.get(canonical_text(dict(point)))
        if row is None:
            shown = ", ".join(f"{path}: {label}" for path, label in point.items())
            raise DataError(f"{self.curves.name}: no curve of {shown}; the table is of another space or incomplete")
        return self.curves.values[row, [self._columns[count] for count in tokens]]

    def mistakes(self, experiment: Experiment) -> list[str]:
        """Return why the table cannot be searched: another baseline, or rungs at which it has no losses."""
        search, declared = experiment.search, self.curves.about.get(BASELINE_KEY)
        assert search is not None
        found = []
        if declared is not None and declared != canonical(experiment.baseline):
            found.append(
                f"the baseline is not that of the table {self.curves.name}, whose losses are of other models"
            )
        wanted = (*experiment.pretraining.rung_tokens, experiment.pretraining.tokens)
        lacking = [count for count in wanted if count not in self._columns]
        if lacking:
            steps = ", ".join(f"{step:g}" for step in self.curves.steps)
            found.append(f"no losses at {', '.join(map(str, lacking))} tokens; the table has {steps}")
        return found

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {canonical_text(dict(config)): row for row, config in enumerate(self.curves.configs)}

    @cached_property
    def _columns(self) -> Mapping[int, int]:
        return {round(step): column for column, step in enumerate(self.curves.steps)}


def with_points(
    experiment: Experiment, curves: RecordedCurves, candidates: Mapping[str, Candidate]
) -> RecordedCurves:
    """Return the curves of a results folder with points as configurations; `candidates` are its arms by name."""
    assert experiment.search is not None
    points = [{**point_of(experiment.search, candidates[name])} for name in curves.candidates]
    about = {"experiment": experiment.experiment, "steps": "tokens", "values": "held_out_loss"}
    return replace(curves, configs=tuple(points), about={**about, BASELINE_KEY: canonical(experiment.baseline)})
