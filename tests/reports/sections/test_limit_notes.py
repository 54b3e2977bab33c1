"""The note on a run that a limit has ended: while trials are open, and not afterwards."""

from dataclasses import replace

from ledger.records import TrialStatus
from ledger.sessions import Session
from reports.sections.failures import INCOMPLETE, limit_notes
from tests.factories.tracked_study import still_running, study

OPEN = (TrialStatus.WAITING, TrialStatus.RUNNING)
LIMITED = Session("c", "2026-01-02T03:04:05+00:00", {}, 60.0, "--stop-after 1m")


def test_a_report_of_a_limited_run_says_how_many_trials_are_open_and_what_to_do() -> None:
    snapshot = replace(still_running(study()), sessions=(LIMITED,))
    ((term, text),) = limit_notes(snapshot)
    assert term == INCOMPLETE
    assert text == (
        "--stop-after 1m ended the run, and 2 of 18 trials have not ended; "
        "the same `run` with a higher limit resumes it"
    )


def test_one_open_trial_is_one() -> None:
    running = still_running(study())
    one = next(history for history in running.histories if history.status in OPEN)
    ended = [history for history in running.histories if history.status not in OPEN]
    ((_, text),) = limit_notes(replace(running, sessions=(LIMITED,), histories=(one, *ended)))
    assert f"1 of {len(ended) + 1} trials has not ended" in text


def test_an_interrupted_run_is_resumed_by_the_same_command() -> None:
    interrupted = replace(LIMITED, stopped_by=None, interruption="interrupted")
    ((_, text),) = limit_notes(replace(still_running(study()), sessions=(LIMITED, interrupted)))
    assert text == "the run was interrupted, and 2 of 18 trials have not ended; the same `run` resumes it"


def test_a_run_without_a_limit_or_after_its_end_has_no_note() -> None:
    assert [*limit_notes(replace(study(), sessions=(LIMITED,)))] == []
    later = replace(LIMITED, stopped_by=None)
    assert [*limit_notes(replace(still_running(study()), sessions=(LIMITED, later)))] == []
    assert [*limit_notes(still_running(study()))] == []
