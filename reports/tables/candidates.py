"""A search's tables: every candidate with how far it came, and how much each axis mattered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from reports.results import Results
from reports.statistics.effects import Difference, paired
from reports.tables.status import status_of
from reports.tables.table import Row, Table, table
from runners.designs.arm import BASELINE
from runners.evidence.measured import PRETRAIN
from runners.evidence.reading import number
from runners.kept.records import ArmRow, Standing
from search_space.declaration import JsonValue, canonical_text

SEARCH = "search"


@dataclass(frozen=True)
class Reach:
    """The furthest mark that any of a candidate's trials has reached, and the held-out losses there."""

    tokens: int
    losses: tuple[float, ...]


def candidates_table(results: Results) -> Table:
    """Return the candidates by how far they came, then by held-out loss there; without a finite loss, unranked."""
    columns = "rank arm changes tokens n held_out_loss sd stopped_at_hurdle value threshold status"
    return table("candidates", columns, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    reached = {arm.name: _reach(results, arm.name) for arm in results.arms}

    def order(arm: ArmRow) -> tuple[int, float]:
        reach = reached[arm.name]
        return (0, 0.0) if reach is None else (-reach.tokens, fmean(reach.losses))

    for rank, arm in enumerate(sorted(results.arms, key=order), start=1):
        reach = reached[arm.name]
        yield {
            "rank": rank if reach else None,
            "arm": arm.name,
            "changes": changes_text(arm.changes),
            "tokens": reach.tokens if reach else None,
            "n": len(reach.losses) if reach else 0,
            "held_out_loss": fmean(reach.losses) if reach else None,
            "sd": stdev(reach.losses) if reach and len(reach.losses) > 1 else None,
            **_stop(results, arm.name),
            "status": status_of(results.trials[arm.name], results.seeds_in_all),
        }


def _losses(results: Results, arm: str) -> dict[int, dict[int, float]]:
    """Return held-out loss by mark, then seed; a diverged trial does not count, however well it began."""
    losses: dict[int, dict[int, float]] = {}
    for history in results.trials[arm]:
        for record in history.finished(PRETRAIN) if history.standing is not Standing.DIVERGED else ():
            tokens, loss = number(record.result.get("tokens")), number(record.result.get("held_out_loss"))
            if tokens is not None and loss is not None:
                losses.setdefault(int(tokens), {})[history.trial.seed] = loss
    return losses


def _reach(results: Results, arm: str) -> Reach | None:
    losses = _losses(results, arm)
    return Reach(max(losses), tuple(losses[max(losses)].values())) if losses else None


def against_baseline(results: Results, arm: str) -> tuple[int, Difference] | None:
    """Return the furthest mark that both an arm and the baseline reached, and how they differ there."""
    mine, its = _losses(results, arm), _losses(results, BASELINE)
    common = mine.keys() & its.keys()
    return (max(common), paired(mine[max(common)], its[max(common)])) if common else None


def _stop(results: Results, arm: str) -> dict[str, JsonValue]:
    """Return where the arm's trials were stopped; of several seeds the one that came furthest, the mean of values."""
    stops = [history.stopped_by for history in results.trials[arm] if history.standing is Standing.STOPPED]
    levels = [stop.level for stop in stops if stop is not None]
    here = [stop for stop in stops if stop is not None and stop.level == max(levels)]
    values = [stop.value for stop in here if stop.value is not None]
    thresholds = [stop.threshold for stop in here if stop.threshold is not None]
    return {
        "stopped_at_hurdle": max(levels) + 1 if levels else None,
        "value": fmean(values) if values else None,
        "threshold": fmean(thresholds) if thresholds else None,
    }


def changes_text(changes: Mapping[str, JsonValue]) -> str:
    """Return changes in one line: `bottleneck_ratio 2, convolution span_dynamic (kernel_size 5)`."""
    return ", ".join(f"{path} {_value_text(value)}" for path, value in changes.items()) or "none"


def _value_text(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return value if isinstance(value, str) else canonical_text(value)
    fields = ", ".join(f"{name} {_value_text(field)}" for name, field in value.items() if name != "kind")
    kind = str(value.get("kind", ""))
    return f"{kind} ({fields})".strip() if fields else kind


def importance_table(importance: Mapping[str, float], candidates: int) -> Table:
    """Return the share of the held-out loss's variance that each axis explains, the largest first."""
    ranked = sorted(importance.items(), key=lambda item: (-item[1], item[0]))
    rows: list[Row] = [{"path": path, "importance": share, "candidates": candidates} for path, share in ranked]
    return table("importance", "path importance candidates", rows)
