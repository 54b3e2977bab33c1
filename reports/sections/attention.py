"""Attention locality C, mass near the diagonal over mass beyond it: by arm, reading and layer, with Δ."""

from collections.abc import Iterator

from reports.figures.attention import FIGURE
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import decimals_for, difference_text, fixed, mean_text, two_seeds
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table
from steeplechase.analysis.difference import Effect, SeedValues
from steeplechase.analysis.effects import effect
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import ATTENTION_DIAGONAL
from steeplechase.ledger.stage_results import ALL, READINGS, uniform_concentration

DIAGONAL = Metric(ATTENTION_DIAGONAL)
COLUMNS = "arm reading layer length within uniform n mean sd delta low high"


def attention_table(results: Results) -> Table:
    """Return C by arm: every reading over all layers, then one row per layer, with Welch's or paired differences."""
    return table(ATTENTION_DIAGONAL, COLUMNS, _rows(results))


def attention_grids(results: Results) -> Iterator[Grid]:
    """Yield the grid of C by arm and reading; none where C was not measured."""
    measured = list(results.attention.items())
    if not measured:
        return
    example = next(iter(measured[0][1].values()))
    effects = {(arm, reading): _effect(results, arm, reading, None) for arm, _ in measured for reading in READINGS}
    decimals = max(2, decimals_for([effect_of_reading.sd for effect_of_reading in effects.values()], fallback=3))
    columns = [Column("arm", numeric=False)]
    for reading in READINGS:
        columns += [Column("mean ± sd (n)", reading), Column("Δ [95%]", reading)]
    rows = (
        [arm, *(text for reading in READINGS for text in _cells(effects[arm, reading], decimals))]
        for arm, _ in measured
    )
    uniform_c = uniform_concentration(example.length, example.within)
    uniform = "" if uniform_c is None else f"; uniform attention has C = {fixed(uniform_c, decimals)}"
    definition = f"C = mass within {example.within} tokens / mass beyond, at length {example.length}"
    shown = grid(ATTENTION_DIAGONAL, f"Attention locality: {definition}{uniform}", columns, rows)
    yield with_notes(shown, attention_notes(results))


def attention_notes(results: Results) -> Iterator[str]:
    """Yield how C was measured and what the paper leaves unspecified; none where C was not measured."""
    for _, by_seed in list(results.attention.items())[:1]:
        example = next(iter(by_seed.values()))
        yield (
            f"C is measured on {example.sequences} held-out sequences without masking. The paper does not specify "
            "the evaluation text, the sequence length, or how heads, [CLS] and [SEP] enter C: claims are tested on "
            f"the reading {ALL}, and other readings are reported beside it. The paper's numbers were not found. C "
            "falls with the sequence length, so that only values at the same length are comparable."
        )


def attention_clause(results: Results) -> str:
    """Return the finding's clause on C: the arm with the largest difference from the baseline; empty without one."""
    arms = [arm for arm, _ in results.attention.items()]
    effects = {arm: results.effect(arm, DIAGONAL) for arm in arms}
    rivals = [arm for arm in arms if arm != BASELINE and effects[arm].difference.delta is not None]
    if not rivals or BASELINE not in effects:
        return ""
    decimals = max(2, decimals_for([one.sd for one in effects.values()], fallback=3))
    farthest = max(rivals, key=lambda arm: abs(effects[arm].difference.delta or 0.0))
    difference = effects[farthest].difference
    significance = "significant without correction" if difference.excludes_zero else "not significant"
    means = " against ".join(fixed(effects[arm].mean or 0.0, decimals) for arm in (farthest, BASELINE))
    shown = f"{means}; Δ {difference_text(difference, decimals)}, n = {difference.n}"
    return f"in attention locality, {farthest} differs most from the baseline ({significance}): C = {shown}"


def _rows(results: Results) -> Iterator[Row]:
    for arm, by_seed in results.attention.items():
        example = next(iter(by_seed.values()))
        for reading, layer in [
            *((reading_name, None) for reading_name in READINGS),
            *((ALL, layer) for layer in range(example.depth)),
        ]:
            measured_effect = _effect(results, arm, reading, layer)
            yield {
                "arm": arm,
                "reading": reading,
                "layer": None if layer is None else layer + 1,
                "length": example.length,
                "within": example.within,
                "uniform": uniform_concentration(example.length, example.within),
                "n": measured_effect.n,
                "mean": measured_effect.mean,
                "sd": measured_effect.sd,
                **interval(measured_effect.difference),
            }


def _effect(results: Results, arm: str, reading: str, layer: int | None) -> Effect:
    values, baseline = (_values(results, name, reading, layer) for name in (arm, BASELINE))
    return effect(values, None if arm == BASELINE else baseline, results.confidence(arm), results.test)


def _values(results: Results, arm: str, reading: str, layer: int | None) -> SeedValues:
    by_seed = {
        seed: attention.concentration(reading, layer) for seed, attention in results.attention.get(arm, {}).items()
    }
    return {seed: value for seed, value in by_seed.items() if value is not None}


def _cells(measured_effect: Effect, decimals: int) -> tuple[str, Cell]:
    difference = measured_effect.difference
    text = difference_text(difference, decimals) + two_seeds(difference)
    return mean_text(measured_effect, decimals), Cell(text, intervals=int(difference.low is not None))


def _content(evidence: Evidence) -> Content:
    return Content((attention_table(evidence.results),), tuple(attention_grids(evidence.results)))


SECTION = Section(
    ATTENTION_DIAGONAL,
    _content,
    lambda evidence: bool(evidence.results.descriptions),
    clauses=lambda evidence: [attention_clause(evidence.results)],
    figure=FIGURE,
)
