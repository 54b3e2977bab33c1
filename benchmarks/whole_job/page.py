"""The page of measurements: one table, and what its columns mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.whole_job.contenders import Contender
from benchmarks.whole_job.job import Usage
from steeplechase.foundation.environment import machine

GOAL = 0.25
"""Asked: the first contender's CPU time over the second's, at most."""
PACKAGES = ("torch", "transformers", "accelerate", "optuna", "mlflow", "ray")
HEAD = (
    "",
    "lines of user code",
    "time to the table",
    "CPU time",
    "x the first's CPU time",
    "CPU time lost by one kill",
    "table after the kill",
    "MLflow runs, killed / undisturbed",
    "left as running",
)

SWEEP = """\
Two kernel sizes of ConvBERT's span-based dynamic convolution and two seeds: four models of 2 layers and width 64 are
pretrained on 491,520 tokens of the same documents by masked language modelling (480 updates of 16 x 64, two
evaluations on 256 held-out sequences) and fine-tuned for two epochs on the same 400 examples: which of two libraries
a text documents. One trial at a time, one thread, the three sides at the same time. `python -m benchmarks.whole_job`
wrote this page; the files of each side are in `benchmarks/whole_job/`."""
ONE_RUN = """\
One run each, on a machine with other work on it: the times to the table depend on that work, and the CPU times by
some tenths. Most of Steeplechase's CPU time is that of its worker, which trains: by process, 46 of 55 seconds in
a run of this sweep by itself."""
KILL = """\
every process of the job gets SIGKILL; the same command is then started again. What was lost is the CPU time of both
  starts over the undisturbed job's."""
NOTES = (
    """\
CPU time is that of every process of the job, start-up, reading, tokenizer, evaluation, tables and MLflow included.
  Steeplechase's has more in it: overlap of the examples with the text, a bag of words beside the task, intervals,
  figures and reports in five formats.""",
    """\
The models have the same modules and sizes, not the same random weights: each side learns a WordPiece vocabulary of
  2,000 pieces of its own from the train split and packs its sequences its own way. Losses are therefore comparable
  within a side only. The Trainer takes logits at every position, as the class is released; Steeplechase at the
  predicted ones.""",
    "Lines of user code: lines that are neither empty nor comments in the files that a user writes.",
)


@dataclass(frozen=True)
class Measured:
    """What a contender took, undisturbed and killed once."""

    contender: Contender
    undisturbed: Usage
    resumed: Usage
    """Both starts of the killed job together."""
    same_table: bool
    """Whether the killed job's table equals the undisturbed one's, character for character."""
    unfinished_runs: int
    runs: tuple[int, int]
    """MLflow runs of the undisturbed job, and of the killed one."""


def page(measured: Sequence[Measured], killed_at: float) -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines(measured, killed_at)) + "\n"


def _lines(measured: Sequence[Measured], killed_at: float) -> Iterator[str]:
    yield from ("# One sweep as a whole, measured", "", SWEEP, "")
    yield f"| {' | '.join(HEAD)} |"
    yield f"| --- {'| --: ' * 5}| --- {'| --: ' * 2}|"
    first, second = (one.undisturbed.cpu_seconds for one in measured[:2])
    for one in measured:
        yield f"| {' | '.join(_cells(one, first))} |"
    ratio = first / second
    reached = "reached" if ratio <= GOAL else "not reached"
    asked = f"Asked: CPU time of the whole table at most {GOAL:g} of the Trainer's. Measured: {ratio:.2f}, {reached}."
    yield from ("", f"{asked} {ONE_RUN}", "")
    yield f"- The kill: at {killed_at:.0%} of the undisturbed job's CPU time, {KILL}"
    yield from (f"- {note}" for note in NOTES)
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES if find_spec(name) is not None)
    yield from ("", f"Made on {machine()['processor']} with {packages}.")


def _cells(one: Measured, first_cpu_seconds: float) -> Iterator[str]:
    lost = one.resumed.cpu_seconds - one.undisturbed.cpu_seconds
    yield one.contender.name
    yield str(one.contender.lines)
    yield f"{one.undisturbed.wall_seconds:.0f} s"
    yield f"{one.undisturbed.cpu_seconds:.0f} s"
    yield f"{one.undisturbed.cpu_seconds / first_cpu_seconds:.2f}"
    yield f"{lost:.0f} s ({lost / one.undisturbed.cpu_seconds:.0%})"
    yield "equal" if one.same_table else "differs"
    yield f"{one.runs[1]} / {one.runs[0]}"
    yield str(one.unfinished_runs)
