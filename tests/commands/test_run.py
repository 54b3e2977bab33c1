"""What `run` says first, where it puts results, its signals and failures, and the command that decides more."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.report import build
from reports.statistics.experiment import experiment_of
from runners.cost_estimate.prediction import Prediction, Range
from runners.opening import RunRequest, stages_of
from runners.part import WHOLE, Part
from runners.plan import plan_of
from runners.remaining import Remaining, remaining_of, stages_by_trial
from runners.settings import RunSettings, Selection
from runners.work_left import WorkLeft, work_left
from runners.work_queue import Failure, StageTask
from search_space.cost import MATMUL
from steeplechase.commands.run import SIGNALS, Stopping, cluster_in_environment, refuse_silent_cluster, stopping
from steeplechase.commands.run_lines import deciding_lines, failure_lines, opening_lines
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import MachineError, StoppedError
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.paths import ResultPaths
from tests.factories import simulated_training as simulated
from tests.factories.command_line import ROOT, SMOKE, command, variables
from tests.factories.reports import document, snapshot
from tests.factories.simulated_training import Track, curve, diverged
from tests.factories.tuning_runs import TUNE
from tests.reports.test_finding import Trial


def test_the_first_line_has_experiment_scale_trials_and_time(tmp_path: Path) -> None:
    declared = simulated.small_table(tmp_path)
    request = RunRequest(declared, "demo", ResultPaths.of(tmp_path / "results"), part=Part(("narrow",)))
    line, *_ = opening_lines(request, is_default=True)
    assert line == "simulated at scale demo (the default): 1 trial, no estimate of the time yet"
    Track(declared, tmp_path / "results").run()
    whole = RunRequest(declared, "whole", request.paths)
    assert opening_lines(whole, is_default=False) == ("simulated: 3 trials, nothing left to compute",)
    search = simulated.search(tmp_path)
    line, *_ = opening_lines(RunRequest(search, "whole", request.paths), False)
    assert "at most 12 trials" in line
    Track(search, tmp_path / "search").run()
    request = RunRequest(search, "whole", ResultPaths.of(tmp_path / "search"))
    (line,) = opening_lines(request, is_default=False)
    assert line.endswith("at most 12 trials, nothing left to compute of the known arms")


def test_the_first_line_says_which_seeds_are_known_and_counts_what_precedes_or_follows(tmp_path: Path) -> None:
    pretraining = {"tokens": 2560, "seeds": [1, 2]}
    table = simulated.small_table(tmp_path, pretraining=pretraining)
    places = ResultPaths.of(tmp_path / "results")
    until = {"until_decided": {"start": 2, "max": 4, "margin": {"held_out_loss": 0.01}}}
    tuned = simulated.small_table(tmp_path, pretraining=pretraining, tune=TUNE)
    finalists = simulated.search(tmp_path, design={**simulated.SEARCH, "finalists": {"count": 1, "seeds": 3}})
    whole, more = (work_left(each, stages_of(each), WHOLE, places, places.store()) for each in (table, tuned))
    assert more.stages >= whole.stages + len(tuned.arms) * len(TUNE["seeds"]) * 2
    for each, told in (
        (tuned, ": 6 trials after tuning, "),
        (finalists, ": at most 12 trials and a final comparison, "),
    ):
        assert told in opening_lines(RunRequest(each, "whole", places), False)[0]
    Track(table, tmp_path / "results").run()
    grown = simulated.small_table(tmp_path, pretraining={**pretraining, "seeds": until})
    (line,) = opening_lines(RunRequest(grown, "whole", places), False)
    assert line == "simulated: at least 6 trials, nothing left to compute at the first 2 seeds"


def one_diverges(work: StageTask) -> Outcome | Failure:
    return diverged(work) if work.trial == "narrow/1" else curve(work)


@pytest.mark.parametrize("answer", [curve, one_diverges])
def test_whole_trials_leave_nothing_to_compute_where_their_files_are_gone(
    tmp_path: Path, answer: Callable[[StageTask], Outcome | Failure]
) -> None:
    declared, places = simulated.small_table(tmp_path), ResultPaths.of(tmp_path / "results")
    shared = stages_of(declared)
    Track(declared, places.folder, answer).run()
    shutil.rmtree(places.stages)
    left = remaining_of(declared, shared, WHOLE, places, places.store())
    assert not left.stages(declared)
    grown = simulated.small_table(tmp_path, pretraining={"tokens": declared.pretraining.tokens, "seeds": [1, 2]})
    left = remaining_of(grown, stages_of(grown), WHOLE, places, places.store())
    assert len(left.shared) == len(shared.by_label)  # a new trial needs them
    of_both = {arm.name: sum(map(len, stages_by_trial(grown, stages_of(grown), arm, WHOLE))) for arm in grown.arms}
    assert {arm: 2 * len(stages) for arm, stages in left.by_arm.items()} == of_both


def test_a_training_that_two_arms_share_is_left_once(tmp_path: Path) -> None:
    arms = {"lengthened": {"recipe.long_sequence_share": 0.1, "recipe.long_sequence_length": 16}}
    declared = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={})
    places = ResultPaths.of(tmp_path / "results")
    left = remaining_of(declared, stages_of(declared), WHOLE, places, places.store())
    assert len(left.stages(declared)) == len(left.shared) + 2  # at two seeds


def test_trials_that_a_run_takes_over_are_not_left_to_compute(tmp_path: Path) -> None:
    declared, source = simulated.small_table(tmp_path), tmp_path / "results"
    Track(declared, source).run()
    new = ResultPaths.of(tmp_path / "new" / "results")
    request = RunRequest(declared, "whole", new, RunSettings(reuse=(source,)))
    assert opening_lines(request, is_default=False) == ("simulated: 3 trials, nothing left to compute",)
    plan = plan_of(declared, Selection(out=new.folder, reuse=(source,)), MATMUL, "whole")
    assert sum(row.cached or 0 for row in plan.arms) == sum(row.stages or 0 for row in plan.arms) > 0
    with pytest.raises(MachineError, match="absent: no ledger here"):
        plan_of(declared, Selection(out=new.folder, reuse=(tmp_path / "absent",)), MATMUL, "whole")


def test_a_text_that_is_probably_too_short_is_told_until_it_has_been_read(tmp_path: Path) -> None:
    declared = simulated.experiment(tmp_path, pretraining={"tokens": 2560, "seeds": [1], "held_out_sequences": 18})
    request = RunRequest(declared, "whole", ResultPaths.of(tmp_path / "results"))
    _, short = opening_lines(request, is_default=False)
    assert short.startswith("warning: pretraining.held_out_sequences is 18, and the validation split")
    Track(declared, tmp_path / "results").run()
    assert len(opening_lines(request, is_default=False)) == 1


def test_a_disk_with_less_space_than_predicted_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = simulated.small_table(tmp_path)
    work = WorkLeft(Remaining([], {}, {}), None, 3, Prediction(None, Range(2e15, None, None), 3, ()))
    monkeypatch.setattr("steeplechase.commands.run_lines.work_left", lambda *of: work)
    request = RunRequest(declared, "whole", ResultPaths.of(tmp_path / "results"))
    _, shortage, *_ = opening_lines(request, is_default=False)
    assert re.fullmatch(r"warning: .*: about 2,000,000,000.0 MB are needed, and .* MB are free", shortage)


def test_a_signal_during_the_estimate_of_time_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = simulated.small_table(tmp_path)
    request = RunRequest(declared, "whole", ResultPaths.of(tmp_path / "results"))
    stop = Stopping()
    monkeypatch.setattr("runners.work_left.predicted", lambda *of: stop.on_signal(signal.SIGTERM, None))
    try:
        with pytest.raises(StoppedError):
            opening_lines(request, is_default=False)
    finally:
        stop.listen_no_more()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (["pretraining.seeds=1-3", "fine_tuning.tasks=[]"], "mine-demo"),
        (["pretraining.tokens=1e5", "pretraining.seeds=3"], "mine-demo-tokens=1e5"),
    ],
)
def test_settings_by_which_a_study_grows_leave_it_in_its_folder(settings: list[str], name: str) -> None:
    assert Selection(overrides=tuple(settings)).paths_of("mine", "demo").folder == Path("results") / name


@pytest.mark.parametrize(("value", "address"), [("10.0.0.1:6379", "10.0.0.1:6379"), ("", None), ("local", None)])
def test_the_cluster_of_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, address: str | None) -> None:
    monkeypatch.setenv("RAY_ADDRESS", value)
    assert cluster_in_environment() == address


def test_a_cluster_of_the_environment_that_does_not_answer_is_refused_by_the_name_of_the_variable() -> None:
    refuse_silent_cluster("auto")
    with pytest.raises(
        MachineError, match=r"^RAY_ADDRESS: no Ray cluster answers at 127\.0\.0\.1:1 .* unset RAY_ADDRESS"
    ):
        refuse_silent_cluster("127.0.0.1:1")


def lines(experiment: Experiment, folder: Path, trial: str) -> list[str]:
    def answer(work: StageTask) -> Outcome | Failure:
        return Failure("OSError: no space") if work.trial == trial else curve(work)

    return list(failure_lines(Track(experiment, folder, answer).run(), experiment))


def test_a_search_waits_for_failed_trials(tmp_path: Path) -> None:
    first, *rest = lines(simulated.small_search(tmp_path), tmp_path, "candidate-001/1")
    assert first == "failed: candidate-001/1; the same command repeats them"
    assert [line.split()[0] for line in rest] == ["No", "A"]


@pytest.mark.parametrize(("trial", "first_words"), [("narrow/1", ["failed:"]), ("nobody/1", [])])
def test_a_table_waits_for_nothing(tmp_path: Path, trial: str, first_words: list[str]) -> None:
    found = lines(simulated.small_table(tmp_path), tmp_path, trial)
    assert [line.split()[0] for line in found] == first_words


COMMAND = "steeplechase run table2 --scale demo --set pretraining.seeds=[1,2,3] --set recipe.dropout=0.1"


def lines_of(seeds: tuple[int, ...], delta: float, folder: Path) -> list[str]:
    trials = [
        Trial(arm, seed).pretrained(5.0 + offset + 0.1 * (position % 3))
        for arm, offset in (("baseline", 0.0), ("wide", delta))
        for position, seed in enumerate(seeds)
    ]
    resolved = document([], pretraining={"tokens": 1000000, "seeds": [*seeds]})
    view = snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, resolved=resolved)
    experiment = experiment_of(view.document)
    request = RunRequest(experiment, "demo", ResultPaths(folder, folder), command=COMMAND)
    return [*deciding_lines(request, view, build(view))]


@pytest.mark.parametrize(("seeds", "set_to"), [((1, 2, 3), r"\d+"), ((11, 12, 13), r"\[11,12,13,14,.*\]")])
def test_an_undecided_test_is_named_with_the_seeds_that_decide_it(
    seeds: tuple[int, ...], set_to: str, tmp_path: Path
) -> None:
    undecided, decide, caveat = lines_of(seeds, -0.15, tmp_path)
    assert "exploratory" in caveat
    assert undecided.startswith("undecided: wide on held-out loss (")
    words = shlex.split(decide.partition(": ")[2])
    settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert settings[0] == "recipe.dropout=0.1"
    (changed,) = settings[1:]
    assert re.fullmatch(rf"pretraining\.seeds={set_to}", changed)
    assert words[-2:] == ["--out", str(tmp_path)]


def test_nothing_is_said_where_everything_is_decided(tmp_path: Path) -> None:
    assert lines_of((1, 2, 3), -2.0, tmp_path) == []


@pytest.mark.engines
def test_a_stopped_run_reports_that_it_is_resumable(tmp_path: Path) -> None:
    """Under Ray it is in `tests/runners/executors/test_ray_ends.py`, at several moments."""
    asked = command("run", *SMOKE, "--out", tmp_path)
    pipe = subprocess.PIPE
    with subprocess.Popen(asked, cwd=ROOT, env=variables(), stdout=pipe, stderr=pipe, text=True) as run:
        while not list(tmp_path.glob("stages/progress/*.json")) and run.poll() is None:
            time.sleep(0.05)  # until a worker is at work
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, out) == (75, "")
    assert err.splitlines()[-1] == "stopped; finished stages are kept, and the same command resumes"
    assert "Traceback" not in err


DURING = """
import os, signal
from search_space.cost import MATMUL
from steeplechase.commands.run import stopping
from steeplechase.foundation.errors import StoppedError
for number, times in ((signal.SIGTERM, 1), (signal.SIGINT, 2)):
    try:
        with stopping() as stop:
            stop.safe_point()
            for _ in range(times):
                os.kill(os.getpid(), number)
                print("still here", flush=True)
            stop.safe_point()
            print("too far", flush=True)
    except StoppedError:
        print("stopped", flush=True)
"""


def test_a_signal_stops_at_the_next_safe_point_and_a_second_one_at_once() -> None:
    command = [sys.executable, "-c", DURING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.splitlines()) == (-signal.SIGINT, ["still here", "stopped", "still here"])


def stopped_behind(number: signal.Signals, *, last: bool) -> None:
    """Send a signal behind the last safe point, or before that is known."""
    with stopping() as stop:
        stop.safe_point()
        if last:
            stop.no_more_safe_points()
        signal.raise_signal(number)
        stop.no_more_safe_points()


@pytest.mark.parametrize("last", [True, False], ids=["behind the last safe point", "between two"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_is_never_forgotten_and_handlers_are_given_back(number: signal.Signals, last: bool) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(StoppedError):
        stopped_behind(number, last=last)
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop:
            signal.raise_signal(signal.SIGHUP)
            stop.safe_point()
    finally:
        signal.signal(signal.SIGHUP, before)
