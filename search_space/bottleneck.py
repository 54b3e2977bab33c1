"""γ, the ratio by which the bottleneck divides the heads of attention. ConvBERT, arXiv 2008.02496, section 3.2.

A ratio is a whole number, a decimal such as 1.5 (12 heads become 8) or a fraction as text such as "4/3" (8 become 6).
"""

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from steeplechase.foundation.schema import LARGEST_COUNT

SHOWN = 4
"""Ratios that a refusal names."""
_FRACTION = re.compile(r"\d{1,9}/[1-9]\d{0,8}", re.ASCII)


def canonical_ratio(value: object) -> int | float | str:
    """Return a ratio from 1 as it is written: a whole number, else a finite decimal, else a fraction as text.

    Raises ValueError.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= LARGEST_COUNT
    if not is_number and not (isinstance(value, str) and _FRACTION.fullmatch(value) and Fraction(value) >= 1):
        raise ValueError(f'{value!r:.80} is no ratio from 1; write a number such as 2 or 1.5, or a fraction: "4/3"')
    return written(Fraction(str(value)))


Ratio = Annotated[
    int | float | str,
    BeforeValidator(canonical_ratio),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+/[0-9]+$"}]},
        mode="validation",
    ),
]
"""A ratio from 1 in its one written form: 2, 1.5 or "4/3"; equal ratios are equal values."""


def written(ratio: Fraction) -> int | float | str:
    """Return a ratio as a whole number, a decimal if that is exact, or a fraction as text."""
    if ratio.denominator == 1:
        return ratio.numerator
    decimal = float(ratio)
    return decimal if Fraction(str(decimal)) == ratio else str(ratio)


def exact(ratio: Any) -> Fraction:
    """Return the value of a ratio: 1.2 is 6/5, as it is written."""
    return Fraction(str(ratio))


def ratio_as_number(ratio: int | float | str) -> int | float:
    """Return a ratio as a number: 4/3 as the nearest one."""
    return float(exact(ratio)) if isinstance(ratio, str) else ratio


def kept_heads(heads: int, ratio: int | float | str) -> Fraction:
    """Return the heads that the bottleneck keeps, a whole number if the ratio fits."""
    return heads / exact(ratio)


def refusal(heads: int, ratio: int | float | str) -> str | None:
    """Return why the ratio does not fit the heads, with the nearest ratios that do; None if it keeps whole heads."""
    kept = kept_heads(heads, ratio)
    if kept.denominator == 1:
        return None
    near = [each for each in range(int(kept) - SHOWN, int(kept) + SHOWN + 1) if 1 <= each <= heads] or [1]
    fitting = sorted((Fraction(heads, each) for each in near), key=lambda each: abs(each - exact(ratio)))
    choices = ", ".join(str(written(each)) for each in sorted(fitting[:SHOWN]))
    return f"{ratio} does not divide heads {heads}; γ keeps whole heads. Allowed near it: {choices}"


def fitted(heads: int, ratio: int | float | str) -> int | float | str:
    """Return the ratio if it keeps whole heads, else the largest whole number below it that does."""
    if kept_heads(heads, ratio).denominator == 1:
        return ratio
    most = min(heads, int(exact(ratio)))
    return next(divisor for divisor in range(most, 0, -1) if heads % divisor == 0)
