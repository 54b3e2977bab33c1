"""Tokens and FLOPs to a held-out loss: a table, a clause of the finding, a figure of ratios by loss."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from reports.figures.figure import ReportFigure
from reports.figures.matplotlib_style import series_style
from reports.figures.named_lines import named_panels
from reports.figures.style import COLOURS, QUIET
from reports.metric_clause import ARMS_NAMED
from reports.number_format import (
    NOTHING,
    TWO_SEEDS,
    UNKNOWN,
    decimals_beside,
    fixed,
    listed,
    p_text,
    scientific,
    short,
    short_range,
)
from reports.section import Content, Section
from reports.statistics.results import Results
from reports.statistics.tokens_to_loss import (
    ArmToLoss,
    Ratio,
    TokensToLoss,
    arms_at,
    geometric_mean,
    highest_first_loss,
    tokens_to_loss_of,
)
from reports.table import Cell, Column, Row, Table, printable, shown, words
from steeplechase.analysis.difference import ALPHA
from steeplechase.configuration.arm import BASELINE

NAME, BY_LOSS = "tokens_to_loss", "ratios_by_loss"
LOSSES_SHOWN = 9  # points of a line of the figure
TICKS = tuple(step * 10.0**power for power in range(-4, 4) for step in (1, 2, 3, 5, 7))
QUANTITIES = ("tokens", "flops")  # seconds differ between two runs of one table


def loss_text(found: TokensToLoss) -> str:
    """Return the loss as text: as declared, or with three decimals."""
    return f"{found.loss:g}" if found.declared else fixed(found.loss, 3)


def ratio_text(ratio: Ratio | None) -> str:
    """Return `0.116 [0.102, 0.131]`; a single seed has no interval."""
    if ratio is None:
        return NOTHING
    value, marked = fixed(ratio.value, _decimals(ratio.value)), TWO_SEEDS if ratio.n == 2 else ""
    if ratio.low is None or ratio.high is None:
        return f"{value} [{UNKNOWN}]"
    low, high = (fixed(bound, decimals_beside(1.0, bound, _decimals(bound))) for bound in (ratio.low, ratio.high))
    return f"{value} [{low}, {high}]{marked}"


def _decimals(ratio: float) -> int:
    return 3 if ratio < 1 else 2


def ratio_cell(ratio: Ratio | None, text: str = "") -> Cell:
    """Return a ratio as a cell, with other text if it is given."""
    return Cell(text or ratio_text(ratio), intervals=int(ratio is not None and ratio.low is not None))


def arm_cell(arm: ArmToLoss) -> Cell:
    """Return the ratio of the tokens, and in how many seeds the loss is not reached or not seen to be crossed."""
    missing = len(arm.ends) - arm.reached
    parts = [ratio_text(arm.tokens_ratio)] if arm.tokens_ratio else []
    parts += [f"not reached in {missing} of {len(arm.ends)}"] if missing else []
    parts += [f"before the first evaluation in {arm.before_first} of {len(arm.ends)}"] if arm.before_first else []
    return ratio_cell(arm.tokens_ratio, ", ".join(parts))


def _row(found: TokensToLoss, arm: ArmToLoss) -> Row:
    means = {name: geometric_mean(getattr(arm, name)) for name in QUANTITIES}
    exits = sorted(end.tokens for end in arm.crossings.values())
    ratios: dict[str, Any] = {}
    for name in QUANTITIES:
        ratio = getattr(arm, f"{name}_ratio")
        values = [None] * 3 if ratio is None else ratio[1:]
        ratios |= zip((f"{name}_ratio", f"{name}_low", f"{name}_high"), values, strict=True)
    return {
        "arm": arm.arm,
        "loss": found.loss,
        "seeds": len(arm.ends),
        "reached": arm.reached,
        "before_first": arm.before_first,
        "compared": len(arm.tokens),
        **means,
        "first": exits[0] if exits else None,
        "last": exits[-1] if exits else None,
        **ratios,
        "p": arm.p,
        "p_adjusted": arm.p_adjusted,
    }


def _spread(arm: ArmToLoss) -> str:
    ends = sorted(end.tokens for end in arm.crossings.values())
    return short_range(ends[0], ends[-1]) if ends else NOTHING


def _mean(arm: ArmToLoss, name: str) -> str:
    mean = geometric_mean(getattr(arm, name))
    if mean is None:
        return NOTHING
    return {"tokens": short, "flops": scientific}[name](round(mean))


COLUMNS = (
    words("arm", lambda arm: arm.arm),
    Column("reached", read=lambda arm: f"{arm.reached} of {len(arm.ends)}"),
    Column("tokens, every seed", read=_spread),
    Column("geometric mean", "tokens", read=lambda arm: _mean(arm, "tokens")),
    Column(
        "ratio [95%]", "tokens", read=lambda arm: arm_cell(arm) if arm.before_first else ratio_cell(arm.tokens_ratio)
    ),
    Column("p, adjusted", "tokens", read=lambda arm: NOTHING if arm.p is None else p_text(arm.p_adjusted)),
    Column("geometric mean", "FLOPs", read=lambda arm: _mean(arm, "flops")),
    Column("ratio [95%]", "FLOPs", read=lambda arm: ratio_cell(arm.flops_ratio)),
)


def _notes(found: TokensToLoss) -> Iterator[str]:
    yield (
        f"The loss of {loss_text(found)} nats is declared by the experiment."
        if found.declared
        else f"The loss, {loss_text(found)} nats, is the lowest that was reached by every finished seed of the "
        "baseline that left the plateau of the loss."
    )
    apart = f", which are at most a factor of {found.widest:.3g} apart here" if found.widest > 1 else ""
    yield (
        "A seed reaches it at its first evaluation at or below it; tokens are interpolated linearly in their "
        f"logarithm between this evaluation and the one before{apart}. A run is read where it reaches the loss, at "
        "the learning rate that its own schedule has there."
    )
    yield (
        "Ratio: of the geometric mean over seeds that learned to the baseline's, by the test that decides, on "
        "logarithms; intervals are not corrected, p is by Holm's correction over arms. An arm of which one of these "
        "seeds does not reach the loss has no ratio: its slowest seeds are missing."
    )
    yield "FLOPs: at an arm's mean per token. Seconds are not compared: they differ between two runs of one table."


def _content(results: Results) -> Content:
    found = results.once(tokens_to_loss_of)
    if found is None:
        return Content()
    table = Table.of(NAME, (_row(found, arm) for arm in found.arms))
    title = f"Tokens and FLOPs to a held-out loss of {loss_text(found)} nats"
    return Content((table,), shown(NAME, title, COLUMNS, found.arms, [*_notes(found)]))


def _clause(results: Results) -> str:
    """Return which arms reach the loss with fewer or more tokens, and, beside ratios or if declared, which have none.

    These do not reach it in every seed, or were not seen to cross it.
    """
    found = results.once(tokens_to_loss_of)
    ratios = {arm.arm: arm.tokens_ratio for arm in found.arms if arm.p is not None} if found else {}
    if found is None or not (ratios or found.declared):
        return ""
    differ = [arm.arm for arm in found.arms if arm.p_adjusted is not None and arm.p_adjusted <= ALPHA]
    by_ratio = {arm: ratio.value for arm, ratio in ratios.items() if ratio is not None}
    lowest_first = sorted(by_ratio, key=lambda arm: by_ratio[arm])
    named = {arm: f"{arm} (ratio {ratio_text(ratios[arm])})" for arm in lowest_first}
    fewer = [named[arm] for arm in lowest_first if arm in differ and by_ratio[arm] < 1]
    more = [named[arm] for arm in lowest_first if arm in differ and by_ratio[arm] >= 1]
    missing = [arm for arm in found.arms if (arm.arm != BASELINE or not ratios) and arm.reached < len(arm.ends)]
    lowest = [] if differ or not ratios else [named[lowest_first[0]]]
    corrected = " after the correction" if any(map(_excludes_one, ratios.values())) else ""
    parts = {
        "are significantly fewer than the baseline's in": fewer,
        "are significantly more than the baseline's in": more,
        f"do not differ significantly from the baseline's in any arm{corrected}, the lowest ratio is that of": lowest,
    }
    loss = f"a held-out loss of {loss_text(found)} nats"
    compared = "; ".join(f"{how} {listed(arms, ARMS_NAMED)}" for how, arms in parts.items() if arms)
    reached = listed([f"{arm.arm} ({arm.reached} of {len(arm.ends)})" for arm in missing], ARMS_NAMED)
    early = [arm for arm in found.arms if arm.before_first and arm.tokens_ratio is None]
    before = [f"{arm.arm} ({arm.before_first} of {len(arm.ends)})" for arm in early]
    said = [f"tokens to {loss} {compared}"] * bool(compared)
    said += [f"{'this loss' if said else loss} is not reached by every seed of {reached}"] * bool(missing)
    how = "is reached before the first evaluation by seeds of"
    said += [f"{'this loss' if said else loss} {how} {listed(before, ARMS_NAMED)}, without a ratio"] * bool(before)
    return "; ".join(said)


def _excludes_one(ratio: Ratio | None) -> bool:
    return ratio is not None and ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high


class LossRatio(NamedTuple):
    """An arm's tokens to one loss as a ratio to the baseline's."""

    arm: str
    loss: float
    ratio: Ratio


def ratios_by_loss(results: Results) -> tuple[LossRatio, ...] | None:
    """Return the ratios at losses from the baseline's first evaluation down to the target; None with fewer than two.

    With more arms than a figure has colours, of those with the lowest ratios.
    """
    found = results.once(tokens_to_loss_of)
    if found is None:
        return None
    compared = [arm for arm in found.arms if arm.tokens_ratio is not None and arm.tokens_ratio.low is not None]
    lowest = sorted(compared, key=lambda arm: arm.tokens_ratio or ())[: len(COLOURS) - 1]
    names = [arm.arm for arm in compared if arm in lowest]
    highest = highest_first_loss(results)
    losses = [] if highest is None else np.linspace(highest, found.loss, LOSSES_SHOWN).tolist()
    at_losses = [arms_at(results, loss) for loss in losses]
    ratios = [
        LossRatio(printable(arm.arm), at.loss, arm.tokens_ratio)
        for at in at_losses
        if at is not None
        for arm in at.arms
        if arm.arm in names and arm.tokens_ratio is not None
    ]
    return tuple(ratios) if len({each.loss for each in ratios}) > 1 else None


def _draw(axes: Any, ratios: Sequence[LossRatio], title: str) -> None:
    axes.axhline(1, color=QUIET, linewidth=0.9, zorder=0)
    for position, name in enumerate(_names(ratios), 1):
        style, line = series_style(position), [each for each in ratios if each.arm == name]
        axes.plot([each.loss for each in line], [each.ratio.value for each in line], **style)
        bounded = [each for each in line if each.ratio.low is not None]
        axes.fill_between(
            [each.loss for each in bounded],
            [each.ratio.low for each in bounded],
            [each.ratio.high for each in bounded],
            color=style["color"],
            alpha=0.13,
            linewidth=0,
        )
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.invert_xaxis()
    axes.set_title(title, fontsize=9.5)
    axes.set_xlabel("held-out loss (nats)")
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)


def _names(ratios: Iterable[LossRatio]) -> list[str]:
    return list(dict.fromkeys(each.arm for each in ratios))


TITLE, BAND = "Tokens to a loss, ratio to the baseline", "band: 95% interval"
FIGURE = ReportFigure(
    BY_LOSS,
    lambda _: "Tokens to a held-out loss, as a ratio to the baseline",
    ratios_by_loss,
    lambda ratios: Table.of(BY_LOSS, ({"arm": arm, "loss": loss, **of._asdict()} for arm, loss, of in ratios)),
    lambda ratios: named_panels([(partial(_draw, ratios=ratios, title=f"{TITLE}; {BAND}"), _names(ratios), 1)]),
)


SECTION = Section(NAME, _content, clauses=lambda results: [_clause(results)], figure=FIGURE)
