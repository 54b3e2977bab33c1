"""What the page on reliability tells of the table of faults and of the results of its attempts."""

from collections import Counter

from reports.formats.markdown import table_lines
from tools.faults.rows import ROWS, attempts, standing

COLUMNS = ("test", "must hold", "faults", "wrong", "mended", "bound", "seeds")


def fault_table() -> str:
    """Return the table of faults in Markdown."""
    results, rows = attempts(), [COLUMNS, ("---",) * len(COLUMNS)]
    for name, row in ROWS.items():
        last = standing(results, name)
        caused, wrong = sum(each.faults for each in last), sum(len(each.wrong) for each in last)
        mended = sum(len(each.wrong) for each in results if each.row == name) - wrong
        bound = f"{min(1.0, 3 / caused):.2%}" if caused and not wrong and name != "soak" else "–"
        seeds = ", ".join(map(str, sorted({each.seed for each in last}))) or "–"
        counts = (f"{caused:,} of {row.reach:,}", f"{wrong:,}", f"{mended:,}")
        rows += [(row.test, row.holds, *counts, bound, seeds)] if row.holds else []
    return "\n".join(table_lines(rows))


def standing_lines() -> list[str]:
    """Return the versions measured, which rows are below the number aimed at, and what was found wrong."""
    results = attempts()
    last = {name: standing(results, name) for name in ROWS}
    counts = {name: sum(each.faults for each in found) for name, found in last.items()}
    short = [f"`{name}` {counts[name]:,} of {row.reach:,}" for name, row in ROWS.items() if counts[name] < row.reach]
    everything = [each for found in last.values() for each in found]
    commits = ", ".join(sorted({each.commit for each in everything}))
    lines = [f"Measured at the commits {commits}." if commits else "Not measured yet."]
    lines += [f"Below the number aimed at: {', '.join(short)}."] if short else []
    for each in everything:
        lines += [f"Wrong, `{each.row} --seed {each.seed} --number {each.number}`: {line}" for line in each.wrong]
    return lines


def peer_counts() -> list[tuple[str, int]]:
    """Return what was counted of the peers, by kind."""
    return sorted(sum((each.caused for each in standing(attempts(), "peers")), Counter[str]()).items())
