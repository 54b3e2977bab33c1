"""A results folder belongs to one experiment and one driver; a user error in a stage ends the run."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.opening import RunRequest, open_ledger
from runners.run import run, run_stages, timed
from runners.run_progress import RunProgress
from runners.settings import RunSettings
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.ledger.amendments import amendments
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.sessions import sessions
from steeplechase.tasks.data_folder import VARIABLE
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import ARCHITECTURE, RECIPE, Track


def request(folder: Path, experiment: Experiment, scale: str = "whole") -> RunRequest:
    return RunRequest(experiment, scale, ResultPaths.of(folder / "results"), RunSettings(workers=1))


def ignore_progress(progress: RunProgress) -> None:
    """Ignore progress."""


def test_another_experiment_in_the_folder_is_refused_with_every_key_that_differs(tmp_path: Path) -> None:
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path))) as ledger:
        before = ledger.fact("identity")
    Track(simulated.experiment(tmp_path), tmp_path / "results").run()
    baseline = {
        "architecture": {**ARCHITECTURE, "heads": 2},
        "objective": {"kind": "masked_language_model"},
        "recipe": {**RECIPE, "dropout": 0.3},
    }
    pretraining = {"tokens": 2560, "seeds": [1, 3]}
    other = simulated.experiment(tmp_path, baseline=baseline, pretraining=pretraining)
    with pytest.raises(ConflictError) as refused, open_ledger(request(tmp_path, other)):
        pass
    first, *keys, results, _, _ = refused.value.lines
    assert refused.value.exit_code == 6
    assert "another experiment's results; nothing was changed" in first
    wanted = [
        "  baseline.architecture.heads: the default there, 2 here",
        "  baseline.recipe.dropout: the default there, 0.3 here",
    ]
    assert [key for key in keys if not key.startswith("  design.")] == wanted  # the arms depend on the baseline
    assert results.startswith("  finished, and would be another number: pretrain@2560 of baseline/1, ")
    with closing(Ledger.at(tmp_path / "results")) as ledger:
        assert ledger.fact("identity") == before


def test_a_run_that_starts_beside_another_does_not_change_its_object_store(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.small_table(tmp_path))
    asked.paths.make()
    second = replace(asked, settings=RunSettings(store=f"file://{tmp_path}/objects"))
    with asked.paths.locked():  # a run that has not written its ledger yet
        with pytest.raises(ConflictError, match="is running this experiment"), open_ledger(second):
            pass
        assert asked.paths.objects == ""
    with open_ledger(second):
        assert asked.paths.objects == second.settings.store


def test_only_a_run_that_computes_is_recorded_as_a_session(tmp_path: Path) -> None:
    asked = replace(request(tmp_path, simulated.small_table(tmp_path)), command="steeplechase run a.yaml")
    track = Track(asked.experiment, tmp_path)
    with open_ledger(asked) as ledger:
        for expected in (1, 1):
            with timed(ledger, asked, ignore_progress) as reporter:
                run_stages(track.journal(ledger), track.executor(), reporter)
            (session,) = sessions(ledger)
            assert (len(sessions(ledger)), session.command) == (expected, "steeplechase run a.yaml")
        assert session.seconds is not None
        assert session.machine["threads"] == 1


def test_a_changed_deciding_test_is_an_amendment_and_its_default_is_none(tmp_path: Path) -> None:
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path))) as ledger:
        before = ledger.fact("identity")
    same = simulated.experiment(tmp_path, comparison="welch", headline_metrics=["held_out_loss", "score"])
    with open_ledger(request(tmp_path, same)) as ledger:
        assert amendments(ledger) == ()
    with open_ledger(request(tmp_path, simulated.experiment(tmp_path, comparison="paired", study="mix"))) as ledger:
        (added,) = amendments(ledger)
        assert added.changed == ("comparison", "study")
        assert ledger.fact("identity") == before


def test_arms_and_claims_may_be_added_and_the_ledger_has_the_time_of_addition(tmp_path: Path) -> None:
    arms: dict[str, Any] = {"narrow": {"bottleneck_ratio": 2}}
    small = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={})
    with open_ledger(request(tmp_path, small)):
        pass
    Track(small, tmp_path / "results").run()
    with open_ledger(request(tmp_path, small)) as ledger:
        assert amendments(ledger) == ()
        last = ledger.last_trial_record()
    arms["dynamic"] = {"bottleneck_ratio": 2, "convolution": {"kind": "dynamic"}}
    claims = ["held_out_loss(dynamic) < held_out_loss(narrow)"]
    more = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={}, claims=claims)
    for _ in range(2):  # a second run adds nothing
        with open_ledger(request(tmp_path, more)) as ledger:
            (added,) = amendments(ledger)
            assert (added.after_record, added.changed) == (last, ("arms", "claims"))
    whole = Track(more, tmp_path / "results").run()
    assert {arm.name: arm.after_record for arm in whole.arms} == {"baseline": 0, "narrow": 0, "dynamic": last}
    assert {history.status for history in whole.of_arm("dynamic")} == {TrialStatus.FINISHED}
    assert whole.document["claims"] == claims


def test_another_spelling_of_a_path_is_the_same_experiment_and_another_file_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(path: str) -> RunRequest:
        corpus = {"kind": "text_files", "path": path}
        return request(tmp_path, simulated.experiment(tmp_path, corpus=corpus, fine_tuning={}))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with open_ledger(at("./text.txt")) as ledger:
        before = ledger.fact("identity")
    for same in (f"${VARIABLE}/text.txt", str(tmp_path / "text.txt")):
        with open_ledger(at(same)) as ledger:
            assert amendments(ledger) == ()
            assert ledger.fact("identity") == before
    Track(at("./text.txt").experiment, tmp_path / "results").run()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "text.txt").write_text("another text\n" * 4000)
    with pytest.raises(ConflictError, match=rf"corpus.path: \"./text.txt\" there, \"\${VARIABLE}/text.txt\" here"):
        open_ledger(at(f"${VARIABLE}/text.txt")).__enter__()


def test_a_concurrent_driver_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.experiment(tmp_path))
    with open_ledger(asked) as ledger:
        with pytest.raises(ConflictError, match="is running this experiment"):
            run(asked, ignore_progress)
        assert ledger.trials() == ()
        assert not (asked.paths.stages / "unfinished").exists()


@pytest.mark.engines
def test_a_user_error_in_a_worker_ends_the_run_and_a_corrected_file_resumes_it(tmp_path: Path) -> None:
    asked = request(tmp_path, simulated.experiment(tmp_path))
    (tmp_path / "text.txt").write_bytes(b"first line\nsecond\x00line\n" * 1000)
    with pytest.raises(DataError, match=r"text\.txt:2: a NUL byte") as refused:
        run(asked, ignore_progress)
    assert refused.value.exit_code == 4
    (tmp_path / "text.txt").write_text("too little text for a vocabulary\n")
    with pytest.raises(DataError) as refused:
        run(asked, ignore_progress)
    assert "NUL" not in str(refused.value)
