"""Speed and memory against named peers, in one table. Usage: python -m benchmarks [--only NAME] [--quick].

Writes benchmarks/results.json when all rows are measured. A figure below its target (`reach`) is marked, not a
failure; results of the two sides that differ are a failure.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.cases import rows
from benchmarks.measuring import Disagreement, Figure, Pace, Row, Skipped

RESULTS = Path(__file__).parent / "results.json"
QUICK = Pace(pairs=3, seconds=0.05)
COLUMNS = ("row", "peer", "ratio", "95% interval", "reach", "", "ceiling", "n", "note")

Outcome = Figure | Skipped | Disagreement


def main(arguments: list[str]) -> int:
    """Measure, print and write all rows; return 1 if the results of two sides differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="speed and memory against named peers")
    parser.add_argument("--only", default="", metavar="NAME", help="measure only rows whose name contains NAME")
    parser.add_argument("--quick", action="store_true", help="3 short pairs instead of 9; no interval to trust")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    console = Console(width=None if sys.stdout.isatty() else 200)
    pace = QUICK if options.quick else Pace()
    chosen = [row for row in rows() if options.only.lower() in row.name.lower()]
    if not chosen:
        console.print(
            f"no row's name contains {options.only!r}; the rows are:", *(row.name for row in rows()), sep="\n  "
        )
        return 2
    started = time.monotonic()
    outcomes = [(row, _outcome(row, pace, console)) for row in chosen]
    console.print(_table(outcomes, time.monotonic() - started))
    if not options.only and not options.quick:
        RESULTS.write_text(json.dumps([as_json(row, outcome) for row, outcome in outcomes], indent=2) + "\n")
    return int(any(isinstance(outcome, Disagreement) for _, outcome in outcomes))


def as_json(row: Row, outcome: Outcome) -> dict[str, object]:
    """Return a row of results.json; without a figure its values are null, and the note has the reason."""
    figure = outcome if isinstance(outcome, Figure) else None
    interval = None if figure is None else figure.ratio
    return {
        "name": row.name,
        "ratio": None if interval is None else round(interval.ratio, 4),
        "low": None if interval is None else round(interval.low, 4),
        "high": None if interval is None else round(interval.high, 4),
        "reach": round(row.reach, 4),
        "reached": None if interval is None else row.reached(interval.ratio),
        "better": row.better,
        "peer": row.peer,
        "unit": row.unit,
        "n": None if interval is None else interval.n,
        "ceiling": None if figure is None or figure.ceiling is None else round(figure.ceiling, 2),
        "note": str(outcome) if figure is None else figure.note,
    }


def _outcome(row: Row, pace: Pace, console: Console) -> Outcome:
    with console.status(row.name):
        try:
            return row.measure(pace)
        except (Skipped, Disagreement) as reason:
            return reason


def _table(outcomes: list[tuple[Row, Outcome]], seconds: float) -> Table:
    title = f"torch {torch.__version__}, one thread, CPU time, pairs interleaved; {seconds / 60:.1f} minutes"
    caption = (
        "interval: order statistics of the paired ratios (sign test); bytes have none. ceiling: the ratio if all but "
        "the step's matrix products, at the pace measured between the pairs, were free"
    )
    table = Table(*COLUMNS, title=title, caption=caption)
    for row, outcome in outcomes:
        table.add_row(*_cells(row, outcome))
    return table


def _cells(row: Row, outcome: Outcome) -> list[str]:
    better = "≥" if row.better == "higher" else "≤"
    head, reach = [row.name, row.peer], f"{better} {row.reach:.3g}"
    if isinstance(outcome, Disagreement):
        return [*head, "", "", reach, "[red]differ[/]", "", "", str(outcome)]
    if isinstance(outcome, Skipped):
        return [*head, "", "", reach, "[dim]skipped[/]", "", "", str(outcome)]
    ratio = outcome.ratio
    spread = f"{ratio.low:.3g} – {ratio.high:.3g}" if ratio.n > 1 else "exact"
    mark = "[green]reached[/]" if row.reached(ratio.ratio) else "[yellow]below[/]"
    ceiling = "" if outcome.ceiling is None else f"{outcome.ceiling:.3g}"
    return [*head, f"{ratio.ratio:.3g}", spread, reach, mark, ceiling, str(ratio.n), outcome.note]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
