"""Limits and parts of a run: it ends incomplete, the ledger says so, and goes on to its end without them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from runners.flags import WrongSetting
from runners.journal import Journal
from runners.limits import UNLIMITED, Limits, seconds_in, time_text
from runners.meter import LimitStop, Meter, spent_on_hidden
from runners.opening import RunRequest, open_ledger
from runners.part import Part, part_of
from runners.run import FAILED, run_stages, timed
from runners.run_progress import RunProgress
from runners.settings import RunSettings
from steeplechase.foundation.errors import ConfigurationError, DataError, ReportedError, StoppedError
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.sessions import sessions
from steeplechase.ledger.snapshot import snapshot
from tests.factories import simulated_training as simulated
from tests.factories.grown_studies import study
from tests.factories.simulated_training import Track, found
from tests.factories.simulated_tune import Handed

TRIAL_TOKENS = 2560
ARMS = 3


@pytest.fixture
def track(tmp_path: Path) -> Track:
    return Track(simulated.small_table(tmp_path), tmp_path, workers=2)


@contextmanager
def ledger_of(track: Track) -> Iterator[tuple[Ledger, RunRequest]]:
    request = RunRequest(track.experiment, "whole", ResultPaths.of(track.folder / "results"))
    with open_ledger(request) as ledger:
        yield ledger, request


def session(track: Track, ledger: Ledger, request: RunRequest, limits: Limits = UNLIMITED) -> str | None:
    """Run until the end or a limit; return the limit."""
    journal = track.journal(ledger)
    try:
        with timed(ledger, request, lambda progress: None) as reporter:
            meter = Meter(limits, journal, sessions(ledger), hidden=spent_on_hidden(ledger))
            run_stages(journal, track.executor(), reporter, meter)
    except LimitStop as stop:
        return stop.reason
    return None


@pytest.mark.parametrize("allowed", range(ARMS + 1))
def test_no_more_tokens_are_trained_on_than_the_limit_and_a_resumed_run_has_the_same_results(
    track: Track, tmp_path: Path, allowed: int
) -> None:
    limits = Limits(stop_after_tokens=allowed * TRIAL_TOKENS + TRIAL_TOKENS // 2)
    with ledger_of(track) as (ledger, request):
        for _ in range(2):  # the limit is of the ledger, whatever the number of sessions
            reason = session(track, ledger, request, limits)
            assert (reason is None) == (allowed == ARMS)
            trained = [record for record in ledger.records() if record.stage == "pretrain"]
            assert len(trained) == allowed
        if reason is not None:
            assert f"of which {allowed * TRIAL_TOKENS} are used" in reason
            assert sessions(ledger)[-1].stopped_by == reason
        assert session(track, ledger, request) is None
        assert sessions(ledger)[-1].stopped_by is None or allowed == ARMS
        whole = Track(simulated.small_table(simulated.folder_of(tmp_path, "whole")), tmp_path / "whole")
        trials, undisturbed = found(snapshot(ledger))["trials"], found(whole.run())["trials"]
        assert [*trials] == [*undisturbed]
        assert [rows[0] for rows in trials.values()] == [rows[0] for rows in undisturbed.values()]


def test_what_a_changed_file_leaves_out_counts_towards_the_limits(tmp_path: Path) -> None:
    limits = Limits(stop_after_tokens=2 * TRIAL_TOKENS, stop_after_cost=20.0, price_per_hour=3600.0)
    for arm, ends in (("narrow", None), ("dynamic", f"of which {2 * TRIAL_TOKENS} are used")):
        track = Track(study(tmp_path, [arm], [1], []), tmp_path / "results", workers=1)
        with ledger_of(track) as (ledger, request):
            reason = session(track, ledger, request, limits)
            assert (reason is None) if ends is None else (ends in str(reason))
            spent = spent_on_hidden(ledger)
            assert (spent.tokens, spent.stage_seconds) == ((0, 0.0) if ends is None else (TRIAL_TOKENS, 1.0))


def test_every_trained_model_is_still_fine_tuned_at_the_limit_of_tokens(track: Track) -> None:
    with ledger_of(track) as (ledger, request):
        session(track, ledger, request, Limits(stop_after_tokens=2 * TRIAL_TOKENS))
        stages = [record.stage for record in ledger.records() if record.trial is not None]
        assert sorted(stages) == ["fine_tune", "fine_tune", "pretrain", "pretrain"]


def test_cost_counts_stages_of_all_sessions_and_those_that_a_limit_interrupted(track: Track) -> None:
    """A simulated stage takes a second; the price is one unit per second."""
    priced = Limits(stop_after_cost=2.5, price_per_hour=3600.0)
    with ledger_of(track) as (ledger, request):
        assert session(track, ledger, request, priced) == "--stop-after-cost 2.5 at 3600 per worker and hour"
        computed = [record for record in ledger.records() if not record.reused]
        assert len(computed) == 3
        assert session(track, ledger, request, priced) is not None
        assert len(ledger.records()) <= len(computed) + 1
        assert session(track, ledger, request, replace(priced, stop_after_cost=1000.0)) is None


@pytest.mark.parametrize(("error", "how"), [(StoppedError("stopped"), "interrupted"), (DataError("no text"), FAILED)])
def test_a_signal_or_an_error_is_recorded_until_the_run_is_resumed(
    track: Track, error: ReportedError, how: str
) -> None:
    def at_two_records(progress: RunProgress) -> None:
        if len(progress.recorded) == 2:
            raise error

    with ledger_of(track) as (ledger, request):
        journal = track.journal(ledger)
        meter = Meter(UNLIMITED, journal)
        with pytest.raises(type(error)), timed(ledger, request, at_two_records, meter) as reporter:
            run_stages(journal, track.executor(), reporter, meter)
        interrupted = snapshot(ledger)
        assert (interrupted.interruption, interrupted.stopped_by_limit) == (how, None)
        assert interrupted.under_way.interruption is None
        assert session(track, ledger, request) is None
        assert (snapshot(ledger).over, snapshot(ledger).interruption) == (True, None)
        assert sessions(ledger)[-1].interruption is None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("45m", 2700.0), ("2h", 7200.0), ("1.5D", 129600.0)])
def test_times_are_read_with_their_units(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds
    assert seconds_in(time_text(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "2", "h", "-1h", "0s", "nanh", "infd", "2 weeks", "1e999s"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        seconds_in(text)


@pytest.mark.parametrize(
    ("tokens", "cost", "price"),
    [
        (None, 1.0, None),
        (None, None, 1.0),
        (float("nan"), None, None),
        (None, float("inf"), 1.0),
        (None, 1.0, float("nan")),
    ],
)
def test_a_limit_that_could_never_hold_is_refused(
    tokens: float | None, cost: float | None, price: float | None
) -> None:
    with pytest.raises(WrongSetting):
        RunSettings(stop_after_tokens=tokens, stop_after_cost=cost, price_per_hour=price)


@pytest.mark.parametrize("kind", [Track, Handed])
def test_a_part_runs_its_trials_and_tasks_alone_and_the_whole_runs_the_rest(
    tmp_path: Path, kind: type[Track]
) -> None:
    declared = simulated.experiment(tmp_path)
    part = part_of(declared, ["narrow", "baseline"], "2", ["docs_pair"])
    assert part == Part(("narrow", "baseline"), (2,), ("docs_pair",))

    journals: list[Journal] = []

    class OfPart(kind):  # type: ignore[misc,valid-type]
        def journal(self, ledger: Ledger) -> Journal:
            journals.append(super().journal(ledger))
            journals[-1].state.part = part
            return journals[-1]

    track = OfPart(declared, tmp_path / "results")
    found = track.run()
    begun = {history.trial.name: {record.label for record in history.records} for history in found.histories}
    assert {name: labels for name, labels in begun.items() if labels} == {
        name: {"pretrain@2560", "docs_pair#1", "docs_pair#2"} for name in ("baseline/2", "narrow/2")
    }
    assert len(begun) == 6  # the others are declared
    assert len(track.computed) == len(found.shared) + 6
    told = journals[-1].trial_progress
    assert [row.name for row, _ in told.statuses] == ["baseline/2", "narrow/2"]
    assert (len(told.done), told.remaining) == (6, ())  # what stays for later is in no count and no time
    assert journals[-1].shared_progress.beside() == 6
    rest = Track(declared, tmp_path / "results", computed=track.computed)
    whole = Track(declared, tmp_path / "whole")
    assert simulated.found(rest.run()) == simulated.found(whole.run())
    assert len(track.computed) == len({*track.computed})
    assert {history.status for history in whole.run().histories} == {TrialStatus.FINISHED}


def test_everything_unknown_in_a_part_is_named_at_once(tmp_path: Path) -> None:
    declared = simulated.experiment(tmp_path)
    with pytest.raises(ConfigurationError) as refused:
        part_of(declared, ["narow", "baseline"], "1,5", ["docs_pear"])
    arm, task, seed = refused.value.lines
    assert arm == "--arms: 'narow' is not an arm; allowed: baseline, narrow, dynamic. Did you mean narrow?"
    assert task.startswith("--tasks: 'docs_pear' is not a task of this experiment; allowed: ")
    assert seed == "--seeds: 5 is not one of pretraining.seeds, 1, 2; add it there"
    for text in ("one", "3-1", "1-", ","):
        with pytest.raises(ConfigurationError, match=r"is no seed; write seeds as 1,2 or 1-3"):
            part_of(declared, [], text, [])
    with pytest.raises(ConfigurationError, match="a search proposes its candidates from all results"):
        part_of(simulated.search(tmp_path), ["baseline"], "", [])
