"""One sweep as a whole, side by side: lines of user code, time, CPU time, and what is lost when the job is killed.

Steeplechase, a hand-written script of Optuna, transformers' Trainer and MLflow, and Ray Tune with its MLflow callback
around the same Trainer run the same four trials, each side one after the other on one thread, the sides at the same
time. Usage: python -m benchmarks.whole_job; about ten minutes of CPU time. It writes
benchmarks/published/whole_job.md. The Trainer needs `pip install accelerate`.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.whole_job.contenders import CONTENDERS, Contender
from benchmarks.whole_job.inputs import write_inputs
from benchmarks.whole_job.job import Job, Usage
from benchmarks.whole_job.page import Measured, page

CONSOLE = Console(stderr=True, highlight=False)
PUBLISHED = Path(__file__).parents[1] / "published" / "whole_job.md"
KILLED_AT = 0.6
"""Share of the undisturbed job's CPU time at which every process of the second job is killed."""


def main() -> int:
    """Measure every contender and write the page; return 1 if something is not installed."""
    if find_spec("accelerate") is None:
        CONSOLE.print("transformers' Trainer needs accelerate: pip install accelerate")
        return 1
    with tempfile.TemporaryDirectory(prefix="whole-job-") as folder:
        scratch = Path(folder)
        write_inputs(scratch / "data")
        with ThreadPoolExecutor(len(CONTENDERS)) as side_by_side:  # other work on the machine slows all of them
            measured = list(side_by_side.map(lambda one: _measured(one, scratch), CONTENDERS))
    PUBLISHED.write_text(page(measured, KILLED_AT), encoding="utf-8")
    CONSOLE.print(f"written: {PUBLISHED}")
    return 0


def _measured(contender: Contender, scratch: Path) -> Measured:
    """Run a contender undisturbed, then again with a kill in the middle and a second start."""
    whole = Job(contender, scratch / f"{contender.name}-whole", scratch / "data")
    _say(contender, "undisturbed")
    undisturbed = whole.run()
    _say(contender, f"{undisturbed.cpu_seconds:.0f} s of CPU time; now killed at {KILLED_AT:.0%} of them")
    broken = Job(contender, scratch / f"{contender.name}-killed", scratch / "data")
    before = broken.run(kill_after=KILLED_AT * undisturbed.cpu_seconds)
    after = broken.run()
    _say(contender, f"{before.cpu_seconds:.0f} s before the kill, {after.cpu_seconds:.0f} s after it")
    resumed = Usage(before.wall_seconds + after.wall_seconds, before.cpu_seconds + after.cpu_seconds, after.output)
    return Measured(
        contender,
        undisturbed,
        resumed,
        same_table=contender.table(whole.folder, undisturbed) == contender.table(broken.folder, resumed),
        unfinished_runs=contender.unfinished_runs(broken.folder),
        runs=(contender.runs(whole.folder), contender.runs(broken.folder)),
    )


def _say(contender: Contender, text: str) -> None:
    CONSOLE.print(f"{contender.name}: {text}")


if __name__ == "__main__":
    raise SystemExit(main())
