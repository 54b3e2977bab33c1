"""Trials of other results are taken over whole or not at all, and the table is that of a run which computes them."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.reused_rows import COPIES
from steeplechase.ledger.sessions import reused_sources
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


def test_a_training_that_two_arms_share_is_computed_and_counted_once(tmp_path: Path) -> None:
    arms = {"lengthened": {"recipe.long_sequence_share": 0.1, "recipe.long_sequence_length": 16}}
    shared = simulated.experiment(tmp_path, design={"kind": "list", "arms": arms}, fine_tuning={})
    track = Track(shared, folder_of(tmp_path, "shared"), workers=4)
    records = [record for history in track.run().histories for record in history.records]
    assert len(track.computed) == len({*track.computed})
    assert len({record.key for record in records}) == len([each for each in records if not each.reused]) == 2


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
