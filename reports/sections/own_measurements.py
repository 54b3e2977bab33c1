"""Measurements of a user's own: the numbers that functions of plugins give for every trained encoder."""

from collections.abc import Iterator

from reports.section import Section, one_table, spread
from reports.statistics.results import Results
from reports.table import Column, Row, spread_columns, words
from steeplechase.configuration.measurements.own_measurement import OwnMeasurementResult
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import finite

NAME, KIND = "own_measurements", "own_measurement"
TITLE = "Measurements of your own: mean ± sd (n pretraining seeds)"
COLUMNS = (*map(words, ("arm", "measurement", "number")), Column("value", read=spread(3)))


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per arm, function and number, over the pretraining seeds; what is not finite is left out."""
    for arm in results.arms:
        samples: dict[tuple[str, str], list[float]] = {}
        for history in results.trials[arm.name]:
            for _, result in with_results(history.finished(KIND), OwnMeasurementResult):
                for number, value in result.values.items():
                    if (known := finite(value)) is not None:
                        samples.setdefault((result.name, number), []).append(known)
        for (name, number), values in sorted(samples.items()):
            yield {"arm": arm.name, "measurement": name, "number": number, **spread_columns(values)}


SECTION = Section(NAME, one_table(NAME, _rows, TITLE, COLUMNS))
