"""Diverged seeds: their share by arm, and each difference with them left out and with the worst value in their place.

Leaving out a diverged seed biases the result in favour of its arm (Dodge et al. 2020, arXiv 2002.06305).
"""

from collections.abc import Iterator, Mapping

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import fixed
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, table
from steeplechase.analysis.difference import Difference, SeedValues
from steeplechase.analysis.effects import difference_of
from steeplechase.analysis.proportions import wilson
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.ledger.records import TrialStatus, curve_of

COLUMNS = "arm metric diverged trials rate rate_low rate_high n delta low high n_all delta_all low_all high_all"


def divergence_table(results: Results) -> Table:
    """Return the arms with a diverged seed, or all arms if the baseline has one, on the headline metrics."""
    return table("divergence", COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    counts = {arm.name: results.diverged(arm.name) for arm in results.arms}
    for arm, (diverged, trials) in counts.items():
        if not diverged and not (trials and counts.get(BASELINE, (0, 0))[0]):
            continue
        low, high = wilson(diverged, trials)
        for metric in results.headlines:
            converged = results.effect(arm, metric).difference
            yield {
                "arm": arm,
                "metric": metric.name,
                "diverged": diverged,
                "trials": trials,
                "rate": diverged / trials,
                "rate_low": low,
                "rate_high": high,
                **_columns(converged, ""),
                **_columns(_with_worst(results, arm, metric), "_all"),
            }


def _columns(difference: Difference, suffix: str) -> Mapping[str, float | int | None]:
    values = {"n": difference.n, "delta": difference.delta, "low": difference.low, "high": difference.high}
    return {f"{name}{suffix}": value for name, value in values.items()}


def _with_worst(results: Results, arm: str, metric: Metric) -> Difference:
    if arm == BASELINE:
        return Difference()
    values, baseline = (_filled(results, name, metric) for name in (arm, BASELINE))
    return difference_of(values, baseline, results.confidence(arm), results.test)


def _filled(results: Results, arm: str, metric: Metric) -> SeedValues:
    """Return the values with the worst value of any arm for diverged seeds; for the loss, the worst on any curve."""
    values = [value for by_metric in results.values.values() for value in by_metric.get(metric.name, {}).values()]
    if metric.name == HELD_OUT_LOSS:
        records = (record for history in results.snapshot.histories for record in history.records)
        values += [loss for record in records for loss in curve_of(record).values()]
    own_values = results.values.get(arm, {}).get(metric.name, {})
    if not values:
        return own_values
    worst = max(values) if metric.lower_is_better else min(values)
    filled = {h.trial.seed: worst for h in results.trials.get(arm, ()) if h.status is TrialStatus.DIVERGED}
    return {**filled, **own_values}


def divergence_grid(results: Results, rows: Table) -> Iterator[Grid]:
    """Yield the table as a grid; none without a diverged seed."""
    if not rows.rows:
        return
    decimals = {metric.name: results.decimals(metric) for metric in results.headlines}

    def cells(row: Row) -> list[str | Cell]:
        interval = " to ".join(fixed(100 * float(str(row[name])), 0) for name in ("rate_low", "rate_high"))
        digits = decimals[str(row["metric"])]
        differences = [difference_cell(row, digits, suffix) for suffix in ("", "_all")]
        count = f"{row['diverged']} of {row['trials']} ({interval}%)"
        return [str(row["arm"]), Metric(str(row["metric"])).title, count, *differences]

    columns = [Column(title, numeric=False) for title in ("arm", "metric", "diverged [95%]")]
    columns += [Column("converged only", "Δ [95%] (n)"), Column("diverged as worst", "Δ [95%] (n)")]
    yield grid("divergence", "Diverged seeds: left out, and as the worst value", columns, map(cells, rows.rows))


def _content(evidence: Evidence) -> Content:
    diverged = divergence_table(evidence.results)
    note = (
        "Converged only: diverged seeds are left out. Diverged as worst: the worst value of any arm in their place."
    )
    grids = (with_notes(shown, [note]) for shown in divergence_grid(evidence.results, diverged))
    return Content((diverged,), tuple(grids))


SECTION = Section("divergence", _content)
