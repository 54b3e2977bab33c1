"""Numbers as text: decimals by the standard deviation, a true minus sign, short units."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from steeplechase.analysis.difference import ALPHA, Difference, Effect

UNKNOWN, NOTHING = "?", "–"
TWO_SEEDS = "†"
"""Mark of an interval that rests on two seeds."""
TWO_SEEDS_NOTE = (
    f"{TWO_SEEDS}: two seeds: the standard deviation comes from two values, and the interval may be narrow by chance."
)
UNKNOWN_NOTE = (
    f"{UNKNOWN}: not known: one seed has no standard deviation; one seed, or values that do not vary over seeds, "
    "give no interval and no test."
)
MOST_DECIMALS = 17
FURTHER_DECIMALS = 3
"""Of a bound that would be shown as 0, or as a ratio of 1."""
UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def decimals_for(spreads: Iterable[float | None], fallback: int) -> int:
    """Return the number of decimals, 1 to 4, that shows two significant digits of the median standard deviation."""
    positive = [spread for spread in spreads if spread is not None and spread > 0]
    if not positive:
        return fallback
    magnitude = math.floor(
        math.log10(median(positive)) + 1e-9
    )  # the tolerance absorbs rounding of values such as 0.01
    return min(4, max(1, 1 - magnitude))


def fixed(value: float, decimals: int) -> str:
    """Return a number with fixed decimals; zero has no sign."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def distinct(value: float, other: float, decimals: int) -> tuple[str, str]:
    """Return two numbers with fixed decimals, with more decimals until unequal numbers differ as text."""
    while value != other and decimals < MOST_DECIMALS and fixed(value, decimals) == fixed(other, decimals):
        decimals += 1
    return fixed(value, decimals), fixed(other, decimals)


def signed(value: float, decimals: int) -> str:
    """Return a difference with an explicit sign."""
    text = fixed(value, decimals)
    return text if text.startswith("−") or not float(text) else f"+{text}"


def percent(share: float) -> str:
    """Return a share as whole percent."""
    return f"{fixed(100 * share, 0)}%"


def mean_text(effect: Effect, decimals: int) -> str:
    """Return `mean ± sd (n)`; a single seed has no standard deviation."""
    if effect.mean is None:
        return NOTHING
    spread = UNKNOWN if effect.sd is None else fixed(effect.sd, decimals)
    return f"{fixed(effect.mean, decimals)} ± {spread} ({effect.n})"


def difference_text(difference: Difference, decimals: int) -> str:
    """Return `Δ [low, high]`; a single seed and seeds that do not vary have no interval."""
    if difference.delta is None:
        return NOTHING
    if difference.low is None or difference.high is None:
        return f"{signed(difference.delta, decimals)} [{UNKNOWN}]"
    low, high = (_bound(bound, decimals) for bound in (difference.low, difference.high))
    return f"{signed(difference.delta, decimals)} [{low}, {high}]"


def _bound(value: float, decimals: int) -> str:
    return signed(value, decimals_beside(0.0, value, decimals))


def decimals_beside(null: float, value: float, decimals: int) -> int:
    """Return the decimals of a bound, more where it rounds to the null value, so that it shows its side of it."""
    shown = (places for places in range(decimals, decimals + FURTHER_DECIMALS + 1) if round(value, places) != null)
    return next(shown, decimals)


def simultaneous_text(low: float | None, high: float | None, decimals: int) -> str:
    """Return `low to high`; 0, which the interval does not contain, is `> 0` or `< 0`; None is infinite."""
    left = "−∞" if low is None else "> 0" if low == 0 else _bound(low, decimals)
    right = "+∞" if high is None else "< 0" if high == 0 else _bound(high, decimals)
    return f"{left} to {right}"


def interval_text(difference: Difference, decimals: int) -> str:
    """Return `Δ [low, high] (n)` with n seeds; two are marked."""
    text = difference_text(difference, decimals)
    return text if difference.delta is None else f"{text} ({difference.n}{two_seeds(difference)})"


def interval_text_with_n(difference: Difference, decimals: int) -> str:
    """Return `Δ [low, high], n = 3` for a sentence."""
    remark = ", few degrees of freedom" if difference.two_seeds else ""
    return f"{difference_text(difference, decimals)}, n = {difference.n}{remark}"


def two_seeds(difference: Difference) -> str:
    """Return the mark of an interval that rests on two seeds; empty for others."""
    return TWO_SEEDS if difference.two_seeds else ""


def p_text(p: float | None) -> str:
    """Return a p value with three decimals; one above the level that rounds to it is `> 0.050`."""
    if p is None:
        return UNKNOWN
    if p > ALPHA and fixed(p, 3) == fixed(ALPHA, 3):
        return f"> {fixed(ALPHA, 3)}"
    return "< 0.001" if p < 0.001 else fixed(p, 3)


def sentence_of(clause: str) -> str:
    """Return a clause as a sentence."""
    return f"{clause[0].upper()}{clause[1:]}."


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, whose plural has an s unless it is given: `1 seed`, `2 seeds`."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are: `a, b and 3 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def short(count: int) -> str:
    """Return a count in short units: 13483008 is 13.5M."""
    for size, unit in UNITS:
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{count / size:.0f}{unit}"
    return str(count)


def short_range(first: float, last: float) -> str:
    """Return the range of two counts in short units: `3k to 6.5k`, or one of them where they read alike."""
    low, high = short(round(first)), short(round(last))
    return low if low == high else f"{low} to {high}"


def scientific(count: int) -> str:
    """Return a large count in powers of ten: 1.27e18."""
    return f"{count:.2e}".replace("e+", "e")


def milliseconds_text(seconds: float) -> str:
    """Return seconds as milliseconds with three significant digits."""
    milliseconds = seconds * 1e3
    return fixed(milliseconds, 3 if milliseconds < 1 else 2 if milliseconds < 10 else 1 if milliseconds < 100 else 0)


def duration(seconds: float) -> str:
    """Return a duration as text, rounded to seconds or minutes."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
