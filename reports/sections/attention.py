"""How near the diagonal each arm attends: C with paired differences in every reading, and by layer."""

from collections.abc import Iterator

from analysis.effects import Effect, SeedValues, effect
from configuration.arm import BASELINE
from configuration.metrics import ATTENTION_DIAGONAL
from ledger.attention_locality import ALL, READINGS, uniform_concentration
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import decimals_for, difference_text, fixed, mean_text, two_seeds
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table

DIAGONAL = Metric(ATTENTION_DIAGONAL)
COLUMNS = "arm reading layer length within uniform n mean sd delta low high"


def attention_table(results: Results) -> Table:
    """Return C by arm in every reading over all layers, then by layer; differences are paired by seed."""
    return table(ATTENTION_DIAGONAL, COLUMNS, _rows(results))


def attention_grids(results: Results) -> Iterator[Grid]:
    """Yield C by arm and reading, none where nothing was measured."""
    measured = list(results.attention.items())
    if not measured:
        return
    some = next(iter(measured[0][1].values()))
    effects = {(arm, reading): _effect(results, arm, reading, None) for arm, _ in measured for reading in READINGS}
    decimals = max(2, decimals_for([one.sd for one in effects.values()], fallback=3))
    columns = [Column("arm", numeric=False)]
    for reading in READINGS:
        columns += [Column("mean ± sd (n)", reading), Column("Δ [95%]", reading)]
    rows = (
        [arm, *(text for reading in READINGS for text in _cells(effects[arm, reading], decimals))]
        for arm, _ in measured
    )
    even = uniform_concentration(some.length, some.within)
    uniform = "" if even is None else f"; even attention has {fixed(even, decimals)}"
    what = f"C, mass within {some.within} tokens over mass beyond, at length {some.length}"
    shown = grid(ATTENTION_DIAGONAL, f"Attention near the diagonal: {what}{uniform}", columns, rows)
    yield with_notes(shown, attention_notes(results))


def attention_notes(results: Results) -> Iterator[str]:
    """Yield what C means and what the paper leaves open, where it was measured."""
    for _, by_seed in list(results.attention.items())[:1]:
        some = next(iter(by_seed.values()))
        yield (
            f"C on {some.sequences} held-out sequences without masking. The paper's text does not state the text, "
            f"the length, or how heads, [CLS] and [SEP] enter: claims are judged on {ALL}, other readings are shown "
            "beside it; the paper's numbers were not found. C falls with the length: compare it at one length only."
        )


def attention_clause(results: Results) -> str:
    """Return what the finding says of C: how the arms that differ most from the baseline do."""
    measured = [arm for arm, _ in results.attention.items()]
    effects = {arm: results.effect(arm, DIAGONAL) for arm in measured}
    rivals = [arm for arm in measured if arm != BASELINE and effects[arm].difference.delta is not None]
    if not rivals or BASELINE not in effects:
        return ""
    decimals = max(2, decimals_for([one.sd for one in effects.values()], fallback=3))
    far = max(rivals, key=lambda arm: abs(effects[arm].difference.delta or 0.0))
    difference = effects[far].difference
    verb = "differs most" if difference.told_apart else "differs most, not significantly,"
    means = " against ".join(fixed(effects[arm].mean or 0.0, decimals) for arm in (far, BASELINE))
    shown = f"{means}; Δ {difference_text(difference, decimals)}, n = {difference.pairs}"
    return f"near the diagonal, {far} {verb} from the baseline: C = {shown}"


def _rows(results: Results) -> Iterator[Row]:
    for arm, by_seed in results.attention.items():
        some = next(iter(by_seed.values()))
        depth = max(head.layer for head in some.heads) + 1
        for reading, layer in [*((each, None) for each in READINGS), *((ALL, layer) for layer in range(depth))]:
            found = _effect(results, arm, reading, layer)
            yield {
                "arm": arm,
                "reading": reading,
                "layer": None if layer is None else layer + 1,
                "length": some.length,
                "within": some.within,
                "uniform": uniform_concentration(some.length, some.within),
                "n": found.n,
                "mean": found.mean,
                "sd": found.sd,
                **interval(found.difference),
            }


def _effect(results: Results, arm: str, reading: str, layer: int | None) -> Effect:
    mine, baseline = (_values(results, each, reading, layer) for each in (arm, BASELINE))
    return effect(mine, None if arm == BASELINE else baseline, results.confidence(arm))


def _values(results: Results, arm: str, reading: str, layer: int | None) -> SeedValues:
    found = {seed: one.concentration(reading, layer) for seed, one in results.attention.get(arm, {}).items()}
    return {seed: value for seed, value in found.items() if value is not None}


def _cells(found: Effect, decimals: int) -> tuple[str, Cell]:
    difference = found.difference
    text = difference_text(difference, decimals) + two_seeds(difference)
    return mean_text(found, decimals), Cell(text, intervals=int(difference.low is not None))


def _content(evidence: Evidence) -> Content:
    return Content((attention_table(evidence.results),), tuple(attention_grids(evidence.results)))


SECTION = Section(ATTENTION_DIAGONAL, _content, lambda evidence: bool(evidence.results.descriptions))
