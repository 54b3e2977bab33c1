"""The interactive page in one file, without network: an axis per varied field, cost and metric, and learning curves.

Parallel coordinates: Inselberg 1985, "The plane with parallel coordinates". Every axis has a position from 0 to 1 per
arm; fields with few values have evenly spaced positions, so that kernel sizes of 3 and 9 do not overlap beside 63.
Plotly, an optional extra, is in the page as text (https://plotly.com/javascript/).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.document import Report
from reports.figures.style import variables
from reports.number_format import NOTHING, fixed, mean_text, short
from reports.sections.curves import Line, curves_of
from reports.statistics.arm_costs import costs_of
from reports.statistics.levels import fields_by_path
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import number, printable
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.canonical import json_in_html
from steeplechase.foundation.errors import MachineError, install_extra
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow, TrialStatus

HERE = Path(__file__).parent
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
MOST_LEVELS = 12
"""Most values of an axis with evenly spaced positions."""
ROOT = "architecture."


@dataclass(frozen=True)
class Axis:
    """One axis. Positions and texts are in the order of the arms; None where nothing was measured."""

    title: str
    positions: tuple[float | None, ...]
    texts: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    varied: bool = False
    """Whether it is a field that the experiment varies."""
    metric: bool = False
    headline: bool = False
    """Whether the finding reports the metric."""
    lower_is_better: bool = False
    values: tuple[float | None, ...] = ()
    """Of a metric or cost."""


@dataclass(frozen=True)
class Exploration:
    """The arms, the baseline first, with their axes and curves."""

    arms: tuple[str, ...]
    standings: tuple[str, ...]
    axes: tuple[Axis, ...]
    curves: tuple[Line, ...]


def exploration_of(results: Results) -> Exploration:
    """Return the exploration of an experiment, finished or not."""
    curves = curves_of(results)
    lines = {line.arm: line for line in curves.lines} if curves else {}
    measured = (_metric(results, metric, lines) for metric in results.shown)
    axes = (*_varied(results.arms), *_costs(results, lines), *(axis for axis in measured if axis is not None))
    return Exploration(
        arms=tuple(printable(arm.name) for arm in results.arms),
        standings=tuple(_standing(results, arm.name) for arm in results.arms),
        axes=axes,
        curves=tuple(lines.values()),
    )


def _varied(arms: Sequence[ArmRow]) -> Iterator[Axis]:
    """Yield an axis for each field that has several values; options without the field have a place of their own."""
    flat = [fields_by_path(arm.candidate) for arm in arms]
    for name in dict.fromkeys(name for fields in flat for name in fields):
        present = [fields[name] for fields in flat if name in fields]
        values = [fields.get(name, NOTHING) for fields in flat]
        if any(value != present[0] for value in present):
            yield _levels(printable(name.removeprefix(ROOT)), values)


def _levels(title: str, values: Sequence[JsonValue]) -> Axis:
    distinct = sorted(dict.fromkeys(map(_label, values)), key=_order)
    numbers = [number(value) for value in values]
    if len(distinct) > MOST_LEVELS and None not in numbers:
        return replace(_measured(title, numbers, tuple(map(_label, values))), varied=True)
    places = {label: _between(at, 0, len(distinct) - 1) for at, label in enumerate(distinct)}
    texts = tuple(map(_label, values))
    return Axis(
        title, tuple(places[text] for text in texts), texts, tuple((at, label) for label, at in places.items()), True
    )


def _label(value: JsonValue) -> str:
    return printable(str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value))


def _order(label: str) -> tuple[bool, float, str]:
    """Sort numbers before names."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def _costs(results: Results, lines: dict[str, Line]) -> Iterator[Axis]:
    """Yield the tokens seen and the parameters where arms differ in them."""
    seen = [float(lines[name].tokens[-1]) if name in lines else None for name in _names(results)]
    parameters = [float(costs_of(results, arm).parameters) for arm in results.arms]
    for title, values in (("tokens seen", seen), ("parameters", parameters)):
        if len(set(values) - {None}) > 1:
            texts = tuple(NOTHING if value is None else f"{value:,.0f}" for value in values)
            yield _measured(title, values, texts)


def _metric(results: Results, metric: Metric, lines: dict[str, Line]) -> Axis | None:
    """Return the axis of a metric: means over seeds; of a stopped arm the last held-out loss."""
    decimals = results.decimals(metric)
    effects = [results.effect(arm.name, metric) if arm.name in results.values else None for arm in results.arms]
    values = [None if effect is None else effect.mean for effect in effects]
    texts = [NOTHING if effect is None else mean_text(effect, decimals) for effect in effects]
    title = metric.title
    if metric.name == HELD_OUT_LOSS:
        for position, name in enumerate(_names(results)):
            if values[position] is None and name in lines:
                line = lines[name]
                values[position] = line.mean[-1]
                texts[position] = f"{fixed(line.mean[-1], decimals)} ({line.n}) at {short(line.tokens[-1])} tokens"
                title = f"{metric.title}, last measured"
    if all(value is None for value in values):
        return None
    found = _measured(title, values, texts)
    headline = metric.name in {each.name for each in results.headlines}
    return replace(found, metric=True, headline=headline, lower_is_better=metric.lower_is_better)


def _measured(title: str, values: Sequence[float | None], texts: Sequence[str]) -> Axis:
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    positions = tuple(None if value is None else _between(value, low, high) for value in values)
    marks = dict.fromkeys((low, fmean((low, high)), high))
    ticks = tuple(
        (_between(value, low, high), f"{value:.4g}" if high < 1000 else short(round(value))) for value in marks
    )
    return Axis(title, positions, tuple(texts), ticks, values=tuple(values))


def _between(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _names(results: Results) -> list[str]:
    return [printable(arm.name) for arm in results.arms]


def _standing(results: Results, arm: str) -> str:
    statuses = [history.status for history in results.trials.get(arm, ())]
    counts = [(statuses.count(status), status.value) for status in TrialStatus]
    return ", ".join(f"{count} {name}" for count, name in counts if count) or "none yet"


def explorer_page(report: Report, exploration: Exploration) -> str:
    """Return the page. Raises MachineError without the extra `explore`."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    template = environment.get_template("explorer.html.jinja")
    return template.render(
        report=report,
        policy=POLICY,
        style=Markup(f"{variables()}\n{(HERE / 'explorer.css').read_text(encoding='utf-8')}"),
        data=Markup(embedded(exploration)),
        library=Markup(_plotly_script()),
        script=Markup((HERE / "explorer.js").read_text(encoding="utf-8")),
    )


def embedded(exploration: Exploration) -> str:
    """Return the data as JSON that cannot end its element."""
    return json_in_html(asdict(exploration))


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("plotly") is not None


def _plotly_script() -> str:
    """Return the library. Raises MachineError without the extra."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as missing:
        raise MachineError(f"steeplechase explore needs plotly; {install_extra('explore')}") from missing
    return str(get_plotlyjs())
