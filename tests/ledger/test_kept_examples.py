"""A results folder keeps the values of single examples: hard links to the files of its stages, or copies."""

import errno
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.kept_examples import ExampleKeeper, example_files
from tests.ledger.test_example_tables import Results, example_tables_at


@pytest.mark.parametrize("linked", [True, False], ids=["hard links", "copies"])
@pytest.mark.parametrize("searched", [True, False])
def test_what_a_folder_keeps_gives_the_same_tables_without_its_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: bool, linked: bool
) -> None:
    results = Results(tmp_path / "results", searched)
    before = example_tables_at(results.folder)
    if not linked:
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EXDEV, "two devices")))
    with closing(Ledger(results.folder / LEDGER_NAME)) as ledger:
        ExampleKeeper(ledger, results.store).keep_all()
    kept = [*(results.folder / "examples").iterdir()]
    assert {path.stat().st_nlink for path in kept} == {2 if linked else 1}
    shutil.rmtree(results.store.root)
    after = example_tables_at(results.folder)
    assert after.keys() == before.keys()
    for metric, table in before.items():
        assert after[metric].replicates == table.replicates
        assert (after[metric].values == table.values).all()


def test_nothing_is_kept_through_a_link_or_from_a_damaged_stage(tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    (results.folder / "examples").symlink_to(tmp_path)
    with closing(Ledger(results.folder / LEDGER_NAME)) as ledger:
        keeper = ExampleKeeper(ledger, results.store)
        with pytest.raises(MachineError, match="is a symbolic link"):
            keeper.keep_all()
        (results.folder / "examples").unlink()
        file = results.file("baseline", 1)
        file.write_bytes(file.read_bytes()[:-1])
        with pytest.raises(CorruptionError, match="is not what was written"):
            keeper.keep_all()


def test_the_losses_at_the_end_of_the_budget_alone_are_kept(tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    with closing(Ledger(results.folder / LEDGER_NAME)) as ledger:
        ExampleKeeper(ledger, results.store).keep_all()
        read = [record for record in ledger.records() if record.label != "pretrain@64"]
    wanted = {described.sha256 for record in read for _, described in example_files(record)}
    assert {path.stem for path in (results.folder / "examples").iterdir()} == wanted
