"""The seconds of a stage exclude the warm-up of its process, which is recorded separately.

The clock of these tests moves with imports alone, so that nothing depends on how fast the machine is.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

from runners.stages.corpus import CorpusStage
from runners.stages.stage import Job, Stage
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from tests.factories.paths import ROOT

SLOW_IMPORT = 100.0
COMPUTE_TWICE = """
import json, sys, time
now = [0.0]
time.monotonic = lambda: now[0]

class SlowImport:
    def find_spec(self, name, path=None, target=None):
        now[0] += float(sys.argv[1]) * (name == "runners.stages.corpus")

sys.meta_path.insert(0, SlowImport())
from runners.computing.execute import execute
from runners.stages.stage import Job
for line in sys.stdin:
    outcome = execute(Job(**json.loads(line)))
    print(json.dumps([outcome.seconds, outcome.warm_up_seconds]))
"""


def job(folder: Path, name: str) -> Job:
    text = folder / name
    text.mkdir(parents=True)
    words = random.Random(name)
    for number in range(400):  # documents without common text, so that none is a duplicate
        (text / f"{number}.txt").write_text(" ".join(f"{words.getrandbits(40):x}" for _ in range(100)))
    corpus = TextFilesCorpus(kind="text_files", path=str(text))
    return Job.of(Stage(CorpusStage(corpus=corpus, read=corpus.inputs())), str(folder / "stages"))


def measured(jobs: list[Job]) -> list[list[float | None]]:
    """Return the seconds and the warm-up seconds of each job, computed consecutively by a new process."""
    lines = "".join(json.dumps(vars(each)) + "\n" for each in jobs)
    command = [sys.executable, "-c", COMPUTE_TWICE, str(SLOW_IMPORT)]
    done = subprocess.run(command, input=lines, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_imports_are_no_part_of_the_seconds_of_the_first_stage(tmp_path: Path) -> None:
    first, second = measured([job(tmp_path, "first"), job(tmp_path, "second")])
    assert first == second == [0.0, SLOW_IMPORT]


def test_a_resumed_stage_has_no_warm_up_seconds(tmp_path: Path) -> None:
    one = job(tmp_path, "text")
    unfinished = Path(one.store) / "unfinished" / one.key
    unfinished.mkdir(parents=True)
    (unfinished / "left").write_text("by a run that was killed")
    assert measured([one]) == [[0.0, None]]
