"""What the tests of stories about published reports compute from rows."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from statistics import fmean, stdev

from configuration.metrics import HELD_OUT_LOSS
from ledger.csv_export import read_export
from ledger.stage_results import PretrainResult, finite_points
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from tests.reports.test_stories import PUBLISHED, results_in, stories

LOSS = Metric(HELD_OUT_LOSS)
BATCH = 64
"""Predictions averaged in one entry of a training curve: those of a batch of at most 512 tokens."""
LATE = 0.4
"""Share of training, from its end, whose batches are compared."""


def csv_rows(*parts: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a file in a published folder."""
    with PUBLISHED.joinpath(*parts).open(encoding="utf-8", newline="") as file:
        return tuple({key: text.removeprefix("'") for key, text in row.items()} for row in csv.DictReader(file))


@cache
def table(folder: str, name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a report's table; of a report without tables as files, those of its JSON document."""
    if (PUBLISHED / folder / "tables" / f"{name}.csv").is_file():
        return csv_rows(folder, "tables", f"{name}.csv")
    document = json.loads((PUBLISHED / folder / "report.json").read_text(encoding="utf-8"))
    return tuple(row for found in document["evidence"] if found["name"] == name for row in found["rows"])


def mean_and_deviation(found: Sequence[float], decimals: int) -> str:
    return f"{fmean(found):.{decimals}f} ± {stdev(found):.{decimals}f}"


def difference_in(row: dict[str, str], decimals: int, unit: str = "") -> str:
    """Return the difference and interval of a row of a table; a rounded zero has no sign."""
    delta, low, high = (float(row[column]) for column in ("delta", "low", "high"))
    middle = f"{delta:+.{decimals}f}" if round(delta, decimals) else f"{0:.{decimals}f}"
    return f"{middle}{unit} [{low:+.{decimals}f}, {high:+.{decimals}f}]".replace("-", "−")


def claims_shown(name: str, decimals: Mapping[str, int] | None = None) -> list[str]:
    """Return what a story's table says of each claim: verdict and difference, to 2 decimals unless told otherwise."""
    places = decimals or {}
    return [
        f"| {row['verdict']}: Δ {difference_in(row, places.get(row['metric'], 2))} |" for row in table(name, "claims")
    ]


@cache
def report(name: str) -> Results:
    return results_in(PUBLISHED / name)


def story(start: str) -> str:
    (text,) = [text for heading, text in stories().items() if heading.startswith(start)]
    return " ".join(text.split())


def missing_from(start: str, fragments: Iterable[str]) -> list[str]:
    """Return the computed fragments that the story does not contain."""
    text = story(start)
    return [fragment for fragment in fragments if fragment not in text]


def values(name: str, arm: str, metric: str = HELD_OUT_LOSS) -> list[float]:
    by_seed = report(name).values[arm][metric]
    return [by_seed[seed] for seed in sorted(by_seed)]


def differences(name: str, arm: str, other: str) -> list[float]:
    return [mine - theirs for mine, theirs in zip(values(name, arm), values(name, other), strict=True)]


def of_arms(name: str, arms: tuple[str, ...], column: str) -> list[float]:
    return [float(getattr(report(name).comparison(arm, LOSS), column)) for arm in arms]


def span(values_found: list[float], decimals: int = 2) -> str:
    return f"{min(values_found):.{decimals}f} to {max(values_found):.{decimals}f}"


def signed(low: float, high: float) -> str:
    return f"[{low:+.3f}, {high:+.3f}]".replace("-", "−")


def smallest_p(name: str, *metrics: Metric) -> float:
    cells = [cell for cell in headline_cells(name) if not metrics or cell[1] in metrics]
    found = [report(name).comparison(*cell).p_adjusted for cell in cells]
    return min(p for p in found if p is not None)


def smallest_claim_p(name: str) -> float:
    return min(float(row[column]) for row in table(name, "claims") for column in ("p_supported", "p_contradicted"))


def headline_cells(name: str) -> Iterator[tuple[str, Metric]]:
    for metric in report(name).headlines:
        yield from ((arm.name, metric) for arm in report(name).arms if arm.name != "baseline")


def late_batches(name: str, arm: str, other: str, tokens: int) -> Iterator[tuple[float, float]]:
    """Yield by seed the mean difference over late training batches, and its sampling error for that many tokens."""
    found: dict[str, dict[int, dict[int, float]]] = {arm: {}, other: {}}
    for record in read_export(PUBLISHED / name).records():
        owner, _, seed = (record.trial or "").rpartition("/")
        if record.stage == "pretrain" and owner in found:
            assert isinstance(record.result, PretrainResult)
            found[owner][int(seed)] = dict(finite_points(record.result.train_curve))
    for seed in sorted(found[arm]):
        mine, theirs = found[arm][seed], found[other][seed]
        shared = sorted(mine.keys() & theirs.keys())
        late = [mine[at] - theirs[at] for at in shared[int(len(shared) * (1 - LATE)) :]]
        yield fmean(late), stdev(late) * sqrt(BATCH / tokens)
