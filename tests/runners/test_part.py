"""A part of an experiment: what it runs, what stays for later, and names that are unknown."""

from pathlib import Path

import pytest

from runners.journal import Journal
from runners.part import Part, part_of
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import TrialStatus
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Track


def test_a_part_runs_its_trials_and_tasks_alone_and_the_whole_runs_the_rest(tmp_path: Path) -> None:
    declared = simulated.experiment(tmp_path)
    part = part_of(declared, ["narrow", "baseline"], "2", ["docs_pair"])
    assert part == Part(("narrow", "baseline"), (2,), ("docs_pair",))

    journals: list[Journal] = []

    class OfPart(Track):
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
