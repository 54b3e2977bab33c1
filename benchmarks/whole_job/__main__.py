"""One sweep as a whole, side by side: lines of user code, time, CPU time, and what is lost when the job is killed.

Steeplechase, a hand-written script of Optuna, transformers' Trainer and MLflow, and Ray Tune with its MLflow callback
around the same Trainer run the same four trials, each side one after the other on one thread, the sides at the same
time. They read documents as JSON lines, and a table of examples as CSV.

Usage: python -m benchmarks.whole_job; about ten minutes of CPU time. It writes benchmarks/published/whole_job.md. The
Trainer needs `pip install accelerate`.
"""

import csv
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

from rich.console import Console

from benchmarks.whole_job.job import CONTENDERS, Contender, Job, Usage
from steeplechase.foundation.environment import machine
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.documentation import DocumentationCorpus

CONSOLE = Console(stderr=True, highlight=False)
PUBLISHED = Path(__file__).parents[1] / "published" / "whole_job.md"
KILLED_AT = 0.6
"""Share of the undisturbed job's CPU time at which every process of the second job is killed."""
MEGABYTES = 2.5
LIBRARIES = {"torch": "a", "mlflow": "b"}
"""The two labels: which of two libraries a text documents; their documents are not in the corpus."""
TRAIN, DEV, CHARACTERS = 400, 200, 200
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


def main() -> int:
    """Measure every contender and write the page; return 1 if something is not installed."""
    if find_spec("accelerate") is None:
        CONSOLE.print("transformers' Trainer needs accelerate: pip install accelerate")
        return 1
    with tempfile.TemporaryDirectory(prefix="whole-job-") as folder:
        scratch = Path(folder)
        _write_inputs(scratch / "data")
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


def _write_inputs(folder: Path) -> None:
    """Write the text, and a task of two balanced labels made of other documents."""
    documents = list(DocumentationCorpus(maximum_megabytes=MEGABYTES).documents(lambda what, share: None))
    labelled = {library: [one for one in documents if _library(one) == library] for library in LIBRARIES}
    alternating = (one for pair in zip_longest(*labelled.values()) for one in pair if one is not None)
    examples = list(alternating)[: TRAIN + DEV]
    if len(examples) < TRAIN + DEV:
        raise ValueError(f"{len(examples)} examples in {MEGABYTES} MB, {TRAIN + DEV} are needed")
    (folder / "text").mkdir(parents=True)
    text = (json.dumps({"text": one.text}) + "\n" for one in documents if _library(one) not in LIBRARIES)
    (folder / "text" / "corpus.jsonl").write_text("".join(text), encoding="utf-8")
    _write_table(folder / "train.csv", examples[DEV:])
    _write_table(folder / "dev.csv", examples[:DEV])


def _library(document: Document) -> str:
    return document.source.partition(".")[0]


def _write_table(path: Path, examples: Iterable[Document]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("text", "library"))
        table.writerows((one.text[:CHARACTERS].replace("\n", " "), LIBRARIES[_library(one)]) for one in examples)


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


if __name__ == "__main__":
    raise SystemExit(main())
