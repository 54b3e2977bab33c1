"""How near the diagonal each arm attends: C with paired differences in every reading, by layer, and the mean maps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.effects import Effect, SeedValues, effect
from configuration.arm import BASELINE
from configuration.metrics import ATTENTION_DIAGONAL
from ledger.attention_locality import ALL, READINGS, Attention, Cells, uniform_concentration
from reports.grid import Cell, Column, Grid, grid
from reports.number_format import decimals_for, difference_text, fixed, mean_text, two_seeds
from reports.sanitise import printable
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table

MOST_ARMS, MOST_LAYERS = 4, 6
DIAGONAL = Metric(ATTENTION_DIAGONAL)
COLUMNS = "arm reading layer length within uniform n mean sd delta low high"


@dataclass(frozen=True)
class ArmMaps:
    """One arm's mean maps over n seeds by layer, with C of each layer."""

    arm: str
    n: int
    maps: tuple[Cells, ...]
    concentrations: tuple[float | None, ...]


@dataclass(frozen=True)
class AttentionMaps:
    """The mean maps of some arms, all of sequences of one length."""

    length: int
    within: int
    layers: tuple[int, ...]
    """Which layers are shown, counted from 1."""
    arms: tuple[ArmMaps, ...]


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
    told = "" if even is None else f"; even attention has {fixed(even, decimals)}"
    what = f"C, mass within {some.within} tokens over mass beyond, at length {some.length}"
    yield grid(ATTENTION_DIAGONAL, f"Attention near the diagonal: {what}{told}", columns, rows)


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


def attention_maps_of(results: Results) -> AttentionMaps | None:
    """Return the maps of the baseline and of those whose C differs most from its, None where there are none."""
    measured = [(arm, list(by_seed.values())) for arm, by_seed in results.attention.items()]
    measured = [(arm, found) for arm, found in measured if all(one.maps for one in found)]
    if not measured:
        return None
    first = measured[0][1][0]
    same = [(arm, found) for arm, found in measured if all(one.length == first.length for one in found)]
    told = {arm: results.effect(arm, DIAGONAL).difference.delta for arm, _ in same}
    furthest = sorted(same, key=lambda each: (each[0] != BASELINE, -abs(told[each[0]] or 0.0)))[:MOST_ARMS]
    chosen = [each for each in same if each in furthest]
    depth = min(len(one.maps) for _, found in chosen for one in found)
    steps = min(depth, MOST_LAYERS)
    shown = [round(place * (depth - 1) / max(1, steps - 1)) for place in range(steps)]
    arms = tuple(_arm_maps(arm, found, shown) for arm, found in chosen)
    return AttentionMaps(first.length, first.within, tuple(layer + 1 for layer in shown), arms)


def maps_table(maps: AttentionMaps) -> Table:
    """Return a row per row of a map, its cells as one text: 100 is even attention."""
    return table("attention", "arm n layer query weights", _map_rows(maps))


def _map_rows(maps: AttentionMaps) -> Iterator[Row]:
    for one in maps.arms:
        for layer, whole in zip(maps.layers, one.maps, strict=True):
            for query, cells in enumerate(whole, 1):
                shown = " ".join(f"{weight:.6g}" for weight in cells)
                yield {"arm": one.arm, "n": one.n, "layer": layer, "query": query, "weights": shown}


def _arm_maps(arm: str, found: Sequence[Attention], layers: Sequence[int]) -> ArmMaps:
    maps = tuple(_mean([one.maps[layer] for one in found]) for layer in layers)
    values = [[one.concentration(ALL, layer) for one in found] for layer in layers]
    known = ([value for value in of_layer if value is not None] for of_layer in values)
    return ArmMaps(printable(arm), len(found), maps, tuple(fmean(each) if each else None for each in known))


def _mean(maps: Sequence[Cells]) -> Cells:
    return tuple(
        tuple(fmean(each[row][column] for each in maps) for column in range(len(maps[0][row])))
        for row in range(len(maps[0]))
    )


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
