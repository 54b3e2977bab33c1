"""Numbers in Markdown: every `Δ [low, high]` of a text must be a recomputed one at the digits that it prints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.audit.compare import Outcome, same
from tools.audit.exports import Row

NUMBER = r"[+−]?\d+(?:\.\d+)?"
TRIPLE = re.compile(
    rf"(?P<value>{NUMBER})(?:x|%| ms| nats)? \[(?P<low>{NUMBER})(?:x|%)?, (?P<high>{NUMBER})(?:x|%)?\]"
)
INTERVALS = (
    ("delta", "low", "high"),
    ("delta_all", "low_all", "high_all"),
    ("delta_raw", "low_raw", "high_raw"),
    ("delta_tokens", "low_tokens", "high_tokens"),
    ("delta_rate", "low_rate", "high_rate"),
    ("correlation", "tau_low", "tau_high"),
    ("mean", "low", "high"),
    ("share", "low", "high"),
    ("milliseconds", "low", "high"),
    ("times_as_fast", "times_low", "times_high"),
    ("ratio", "low", "high"),
)
Triple = tuple[float, float, float]


def triples_of(tables: Mapping[str, Sequence[Row]]) -> Iterator[Triple]:
    """Yield every recomputed value with its interval; shares also in percent, ratios also inverted."""
    for rows in tables.values():
        for row in rows:
            for names in INTERVALS:
                found: list[Any] = [row.get(name) for name in names]
                if all(isinstance(each, float) for each in found):
                    yield found[0], found[1], found[2]
                    if names[0] == "share":
                        yield 100 * found[0], 100 * found[1], 100 * found[2]


def plain(text: str) -> str:
    """Return Markdown without its escapes."""
    return re.sub(r"\\([^A-Za-z0-9\s])", r"\1", text)


def check_prose(
    outcome: Outcome,
    file: str,
    text: str,
    known: Sequence[Triple],
    quoted: Mapping[str, Sequence[Triple]] | None = None,
) -> None:
    """Compare every value with an interval in a text; `quoted` has those of folders that have no rows, by name."""
    for number, line in enumerate(plain(text).splitlines(), start=1):
        for found in TRIPLE.finditer(line):
            printed = _printed(found)
            sources = [name for name, triples in (quoted or {}).items() if _among(printed, triples)]
            if _among(printed, known):
                outcome.compared += len(printed)
            elif sources:
                outcome.skipped[f"{file} line {number} {found[0]}"] = f"from {sources[0]}, which has no rows"
            else:
                outcome.compared += len(printed)
                outcome.missing(file, f"line {number}", found[0])


def _printed(found: re.Match[str]) -> list[str]:
    """Return the value and its bounds; bounds alone where these have signs and the number before them has none."""
    names = ("value", "low", "high")
    if not found["value"][0].isdigit() or found["low"][0].isdigit():
        return [found[name].replace("−", "-").lstrip("+") for name in names]
    return [found[name].replace("−", "-").lstrip("+") for name in names[1:]]


def _among(printed: Sequence[str], triples: Sequence[Triple]) -> bool:
    """Whether the numbers, or bounds alone, are those of one of the triples."""
    return any(all(map(same, printed, each[-len(printed) :])) for each in triples)
