"""Trials of other results are taken over whole or not at all, and the table is that of a run which computes them."""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runners.work_queue import StageTask
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.example_tables import attachments, example_tables
from steeplechase.ledger.records import Status
from steeplechase.ledger.reuse import reuse
from steeplechase.ledger.reused_rows import COPIES, reused_rows
from steeplechase.ledger.reused_sources import reused_sources
from steeplechase.ledger.snapshot import snapshot
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Killed, Track, folder_of, found


def of_trials(track: Track) -> set[str]:
    """Return the keys of the stages of a run's trials."""
    assert track.last is not None
    return {record.key for history in track.last.histories for record in history.records}


@pytest.fixture
def source(tmp_path: Path) -> Track:
    """Return a whole run at seed 1."""
    track = Track(
        simulated.experiment(tmp_path, pretraining={"tokens": 2560, "seeds": [1]}), folder_of(tmp_path, "one")
    )
    track.run()
    return track


def test_the_trials_of_a_published_seed_are_not_computed_again(tmp_path: Path, source: Track) -> None:
    both = simulated.experiment(tmp_path)
    whole = Track(both, folder_of(tmp_path, "whole"))
    extended = Track(both, folder_of(tmp_path, "extended"), reuse=(source.folder,))
    assert found(extended.run()) == found(whole.run())
    assert not of_trials(source) & set(extended.computed)
    assert of_trials(whole) - of_trials(source) == set(extended.computed) & of_trials(whole)
    with closing(Ledger.at(extended.folder)) as ledger:
        (taken,) = reused_sources(ledger)
    assert taken.name == "one"


@pytest.mark.parametrize("with_stages", [True, False], ids=["with its stages", "of rows alone"])
def test_of_a_trial_that_is_not_whole_the_stages_are_taken_over_and_rows_alone_never(
    tmp_path: Path, with_stages: bool
) -> None:
    """Its later stages need weights, which rows do not have."""
    experiment = simulated.small_table(tmp_path)
    source = Track(experiment, folder_of(tmp_path, "one"), left=6, workers=1)
    with pytest.raises(Killed):
        source.run()
    with closing(Ledger.at(source.folder)) as ledger:
        histories = snapshot(ledger).histories
    partial = {h.trial.name for h in histories if 0 < len(h.records) < 2}
    assert partial, "the run was to be killed in the middle of a trial"
    if not with_stages:
        shutil.rmtree(source.store.root)
    extended = Track(experiment, folder_of(tmp_path, "extended"), reuse=(source.folder,))
    final = extended.run()
    again = {h.trial.name for h in final.histories if {record.key for record in h.records} & set(extended.computed)}
    assert partial <= again
    of_partial = [h for h in final.histories if h.trial.name in partial]
    taken = [record.key not in extended.computed for history in of_partial for record in history.records]
    assert any(taken) == with_stages


def test_with_other_fine_tuning_the_pretrained_models_are_taken_over(tmp_path: Path) -> None:
    before = simulated.small_table(tmp_path)
    assert before.fine_tuning is not None
    longer = before.model_copy(update={"fine_tuning": before.fine_tuning.model_copy(update={"epochs": 7})})
    source = Track(before, folder_of(tmp_path, "before"))
    source.run()
    changed = Track(longer, folder_of(tmp_path, "changed"), reuse=(source.folder,))
    final = changed.run()
    labels = {record.label for h in final.histories for record in h.records if record.key in changed.computed}
    assert labels
    assert not any(label.startswith("pretrain") for label in labels)
    damaged = next(source.store.root.glob("pretrain/*/manifest.json"))
    damaged.write_text(damaged.read_text().replace("2560", "2561"))
    with pytest.raises(CorruptionError, match="differs from what was written"):
        Track(longer, folder_of(tmp_path, "again"), reuse=(source.folder,)).run()


def test_a_trial_that_diverged_in_pretraining_is_whole_without_its_tasks(tmp_path: Path) -> None:
    def answer(work: StageTask) -> object:
        return simulated.diverged(work) if work.label.startswith("pretrain") and work.trial else simulated.curve(work)

    experiment = simulated.small_table(tmp_path)
    source = Track(experiment, folder_of(tmp_path, "one"), answer=answer)  # type: ignore[arg-type]
    source.run()
    extended = Track(experiment, folder_of(tmp_path, "extended"), reuse=(source.folder,))
    final = extended.run()
    assert {record.status for history in final.histories for record in history.records} == {Status.DIVERGED}
    assert not of_trials(extended) & set(extended.computed)


def test_failed_stages_are_not_taken_over(tmp_path: Path) -> None:
    def fails(work: StageTask) -> object:
        if work.trial == "dynamic/1":
            return simulated.Failure("RuntimeError: broken")
        return simulated.curve(work)

    experiment = simulated.small_table(tmp_path)
    source = Track(experiment, folder_of(tmp_path, "one"), answer=fails)  # type: ignore[arg-type]
    source.run()
    extended = Track(experiment, folder_of(tmp_path, "extended"), reuse=(source.folder,))
    assert not extended.run().failed


def test_what_was_taken_over_stays_when_the_source_is_gone(tmp_path: Path, source: Track) -> None:
    both = simulated.experiment(tmp_path)
    extended = Track(both, folder_of(tmp_path, "extended"), reuse=(source.folder,), left=6)
    with pytest.raises(Killed):
        extended.run()
    resumed = Track(both, extended.folder)
    resumed.run()
    assert not of_trials(source) & {*extended.computed, *resumed.computed}


def test_a_changed_copy_is_an_error_and_nothing_is_computed(tmp_path: Path, source: Track) -> None:
    both = simulated.experiment(tmp_path)
    extended = Track(both, folder_of(tmp_path, "extended"), reuse=(source.folder,), left=6)
    with pytest.raises(Killed):
        extended.run()
    (records,) = extended.folder.glob(f"{COPIES}/*/ledger/records.csv")
    records.write_text(records.read_text().replace("7.5", "1.5") + "\n")
    with pytest.raises(CorruptionError, match="restore"):
        Track(both, extended.folder).run()
    (checksums,) = extended.folder.glob(f"{COPIES}/*/ledger/export.json")
    checksums.unlink()
    with pytest.raises(CorruptionError, match="missing or changed"):
        Track(both, extended.folder).run()


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    with (
        closing(Ledger(tmp_path / "results" / LEDGER_NAME)) as ledger,
        pytest.raises(MachineError, match="no ledger here"),
    ):
        reuse(ledger, tmp_path / "results", [tmp_path])


def test_a_results_folder_is_not_reused_in_itself(source: Track) -> None:
    with pytest.raises(ConflictError, match="resumed without --reuse"):
        Track(source.experiment, source.folder, reuse=(source.folder,)).run()


def test_values_of_single_examples_come_with_the_rows(tmp_path: Path) -> None:
    """They are published again with the same bytes, although no stage folder has them."""
    from tests.ledger.test_example_tables import Results

    source = Results(tmp_path / "source")
    target = tmp_path / "target"
    target.mkdir()
    with closing(Ledger(target / LEDGER_NAME)) as ledger, closing(Ledger.at(source.folder)) as rows:
        for name in ("experiment", "scale", "document", "labels"):
            ledger.set_fact(name, rows.fact(name))
        for arm in rows.arms():
            ledger.add_arm(arm)
        for trial in rows.trials():
            ledger.add_trial(trial)
        for record in rows.records():
            ledger.add_record(record)
        reuse(ledger, target, [source.folder, source.folder])
        assert len(reused_sources(ledger)) == 1
        assert reused_rows(target, ledger).find("unknown") is None
        expected, taken = example_tables(source.folder, rows), example_tables(target, ledger)
    assert attachments(taken) == attachments(expected)
    assert all(np.allclose(taken[name].values, expected[name].values, rtol=1e-3) for name in expected)
