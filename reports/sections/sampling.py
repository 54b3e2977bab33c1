"""What the intervals of differences are over: seeds, and the examples whose values were kept."""

from collections.abc import Iterator

from reports.section import Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results

TERM = "Sampled"
ALONE = "seeds alone, without the sampling error of the examples"


def _conditions(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield what the differences of each metric are sampled over; nothing in a search or before there are values."""
    results = evidence.results
    by_sample: dict[str, list[str]] = {}
    for metric in () if results.is_search else results.metrics:
        if any(metric.name in values for values in results.values.values()):
            by_sample.setdefault(_sampled(results, metric), []).append(metric.title)
    if [*by_sample] == [ALONE]:
        yield TERM, f"all intervals are over {ALONE}"
    elif by_sample:
        text = "; ".join(f"{', '.join(titles)}: {sample}" for sample, titles in by_sample.items())
        yield TERM, f"intervals of differences are over: {text}. All other intervals are over seeds alone"


def _sampled(results: Results, metric: Metric) -> str:
    sets = results.examples(metric.name)
    if not sets:
        return ALONE
    units = " and ".join(f"{each.count:,} {each.unit}" for each in sets)
    tested = [arm for arm, values in results.values.items() if len(values.get(metric.name, {})) > 1]
    lacking = results.without_examples(tested, metric)
    return f"seeds and {units}" + (f" (but not those of {', '.join(lacking)})" if lacking else "")


SECTION = Section("sampling", conditions=_conditions)
