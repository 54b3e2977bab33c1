"""Values of single examples: what stages have kept comes back by arm and seed, from the store and from an export."""

import errno
import gzip
import io
import os
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from search_space.candidate import Candidate
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.csv_export import read_export, write_export
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.example_tables import (
    INDEX,
    ExampleTable,
    Replicate,
    attachments,
    example_tables,
    kept_example_tables,
)
from steeplechase.ledger.example_values import ExampleKeeper, example_files, write_example_values
from steeplechase.ledger.paths import EXPORT_FOLDER, HELD_OUT_LOSSES, example_scores_file
from steeplechase.ledger.records import ArmRow, Record, Status, TrialRow
from steeplechase.ledger.snapshot import open_rows
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import load_examples, save_examples
from tests.factories.keys import key_of
from tests.factories.simulated_training import encoded_examples
from tests.factories.stage_results import PLAUSIBLE, result_of

ARMS, SEEDS, TUNING_SEEDS = ("baseline", "dynamic"), (1, 2, 3), (1, 2)
LOSSES, DEV = 40, 6


def losses(arm: str, seed: int) -> np.ndarray:
    return np.random.default_rng([ARMS.index(arm), seed]).gamma(2.0, 2.0, LOSSES).astype(np.float32)


def right(arm: str, seed: int, tuning_seed: int) -> np.ndarray:
    random = np.random.default_rng([ARMS.index(arm), seed, tuning_seed])
    return random.integers(0, 2, DEV).astype(np.float32)


class Results:
    """A results folder under a test's hand: its ledger and its store."""

    def __init__(self, folder: Path, searched: bool = False) -> None:
        self.folder, self.store = folder, ArtifactStore(folder / "stages")
        folder.mkdir()
        marks = ["pretrain@64", "pretrain@128"]
        with closing(Ledger(folder / LEDGER_NAME)) as ledger:
            for name, value in (("experiment", "x"), ("scale", "whole"), ("document", {"a": 1}), ("labels", marks)):
                ledger.set_fact(name, value)
            self._examples(ledger)
            for position, arm in enumerate(ARMS):
                costs = {"cohort": 0, "parameters": 1, "forward_flops": 1, "train_flops": 1}
                ledger.add_arm(ArmRow(arm, Candidate(), {}, position=position, **costs))
                for seed in SEEDS:
                    ledger.add_trial(TrialRow(f"{arm}/{seed}", arm, seed))
                    for mark in marks:  # only the last is of the whole budget
                        values = {"held_out_loss": losses(arm, seed) + (mark != marks[-1])}
                        self._pretrain(ledger, (arm, seed), mark, values)
                    for tuning_seed in TUNING_SEEDS:
                        self._fine_tune(ledger, (arm, seed, tuning_seed), searched)

    def _add(self, ledger: Ledger, row: tuple[str | None, str, str], result: Mapping[str, JsonValue]) -> None:
        trial, kind, label = row
        found = result_of(kind, result)
        key = self.key(trial, label)
        ledger.add_record(Record(0, trial, kind, label, key, Status.FINISHED, found, 1.0, False))

    def key(self, trial: str | None, label: str) -> str:
        return key_of(f"{trial} {label}")

    def _examples(self, ledger: Ledger) -> None:
        label = "examples docs_pair"
        with self.store.computing(self.key(None, label)) as folder:
            (folder / "dev").mkdir()
            save_examples(encoded_examples(), folder / "dev")
            result = dict(PLAUSIBLE["examples"])
            self.store.publish("examples", self.key(None, label), folder, Outcome(Status.FINISHED, result, 1.0))
        self._add(ledger, (None, "examples", label), result)

    def _pretrain(self, ledger: Ledger, trial: tuple[str, int], label: str, values: Mapping[str, np.ndarray]) -> None:
        name = f"{trial[0]}/{trial[1]}"
        with self.store.computing(self.key(name, label)) as folder:
            (folder / "checkpoint").mkdir()
            (folder / "checkpoint" / "weights.safetensors").write_bytes(b"weights")
            kept = write_example_values(folder / HELD_OUT_LOSSES, values)
            result = {**PLAUSIBLE["pretrain"], "held_out_losses": kept}
            self.store.publish("pretrain", self.key(name, label), folder, Outcome(Status.FINISHED, result, 1.0))
        self._add(ledger, (name, "pretrain", label), result)

    def _fine_tune(self, ledger: Ledger, trial: tuple[str, int, int], searched: bool) -> None:
        arm, seed, tuning_seed = trial
        name, label = f"{arm}/{seed}", f"docs_pair#{tuning_seed}"
        with self.store.computing(self.key(name, label)) as folder:
            scores = {"accuracy": right(*trial)}
            kept: dict[str, JsonValue] = {"dev": write_example_values(folder / example_scores_file("dev"), scores)}
            other = {"accuracy": 1 - right(*trial)[:4]}
            kept["other"] = write_example_values(folder / example_scores_file("other"), other)
            result: dict[str, JsonValue] = {**PLAUSIBLE["fine_tune"], "seed": tuning_seed, "example_scores": kept}
            if searched:
                half = {"score": 1.0, "n": 3, "reported": 3, "chosen_on": "held_out_half", "searched": {}}
                result |= {"choice": half}
            self.store.publish("fine_tune", self.key(name, label), folder, Outcome(Status.FINISHED, result, 1.0))
        self._add(ledger, (name, "fine_tune", label), result)

    def file(self, arm: str, seed: int) -> Path:
        return self.store.folder("pretrain", self.key(f"{arm}/{seed}", "pretrain@128")) / HELD_OUT_LOSSES

    def export(self, folder: Path) -> Path:
        folder.mkdir()
        with closing(Ledger.at(self.folder)) as ledger:
            write_export(ledger, folder, attachments(example_tables(self.folder, ledger)))
        return folder


def example_tables_at(folder: Path) -> dict[str, ExampleTable]:
    with open_rows(folder) as rows:
        return example_tables(folder, rows)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results")


def test_every_table_has_the_kept_values_of_every_replicate(results: Results) -> None:
    tables = example_tables_at(results.folder)
    assert tables.keys() == {"held_out_loss", "docs_pair:accuracy", "docs_pair:accuracy other"}
    table = tables["held_out_loss"]
    assert table.replicates == tuple(Replicate(arm, seed) for arm in ARMS for seed in SEEDS)
    for arm in ARMS:
        found = table.of_arm(arm)
        assert found.seeds == SEEDS
        assert found.values.tolist() == [losses(arm, seed).tolist() for seed in SEEDS]
    accuracy = tables["docs_pair:accuracy"].of_arm("dynamic")
    for seed, values in zip(accuracy.seeds, accuracy.values, strict=True):
        assert values.tolist() == np.mean([right("dynamic", seed, each) for each in TUNING_SEEDS], axis=0).tolist()
    assert table.of_arm("nobody").values.shape == (0, LOSSES)


def test_an_export_has_the_same_tables_at_lower_precision_and_can_be_exported_again(
    results: Results, tmp_path: Path
) -> None:
    tables, published = example_tables_at(results.folder), results.export(tmp_path / "published")
    found = example_tables_at(published)
    assert found.keys() == tables.keys()
    for metric, table in tables.items():
        assert found[metric].replicates == table.replicates
        assert found[metric].values == pytest.approx(table.values, rel=2**-11)
    assert (found["docs_pair:accuracy"].values == tables["docs_pair:accuracy"].values).all()
    (tmp_path / "again").mkdir()
    rows = read_export(published)
    write_export(rows, tmp_path / "again", attachments(example_tables(published, rows)))
    files = {path.relative_to(published): path.read_bytes() for path in published.rglob("*") if path.is_file()}
    assert len(files) == 6 + 3 + 1
    for path, content in files.items():
        assert (tmp_path / "again" / path).read_bytes() == content


def test_missing_files_are_counted_and_the_first_is_named_in_one_line(results: Results, tmp_path: Path) -> None:
    for seed in SEEDS[1:]:
        results.file("baseline", seed).unlink()
    with pytest.raises(MachineError, match=r"single examples are missing, .* 2 files, the first is") as told:
        example_tables_at(results.folder)
    assert str(results.file("baseline", 2)) in str(told.value)
    assert "\n" not in str(told.value)


def test_after_a_search_a_task_whose_examples_are_gone_is_refused(tmp_path: Path) -> None:
    results = Results(tmp_path / "results", searched=True)
    shutil.rmtree(results.store.folder("examples", results.key(None, "examples docs_pair")))
    for read in (kept_example_tables, example_tables_at):
        with pytest.raises(MachineError, match=r"values of single examples are missing, .* 12 files, the first is"):
            read(results.folder)


@pytest.mark.parametrize("damage", ["changed", "cut", "empty"])
def test_a_damaged_file_is_refused_in_one_line(results: Results, damage: str) -> None:
    path = results.file("dynamic", 3)
    content = path.read_bytes()
    path.write_bytes({"changed": content[:-1] + b"\xff", "cut": content[:-5], "empty": b""}[damage])
    with pytest.raises(CorruptionError, match=f"{path}: is not what was written") as told:
        example_tables_at(results.folder)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", [INDEX, "held_out_loss.npy.gz"])
@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_a_damaged_export_is_refused_by_name_and_its_rows_are_still_read(
    results: Results, tmp_path: Path, name: str, damage: str
) -> None:
    published = results.export(tmp_path / "published")
    path = published / EXPORT_FOLDER / "examples" / name
    path.unlink() if damage == "gone" else path.write_bytes(path.read_bytes()[:-2] + b"9\n")
    with pytest.raises(CorruptionError, match=f"{name}: differs from the exported file"):
        example_tables_at(published)
    assert len(read_export(published).trials()) == len(ARMS) * len(SEEDS)


def test_after_a_search_the_values_are_of_the_reported_half(tmp_path: Path) -> None:
    results = Results(tmp_path / "results", searched=True)
    dev = load_examples(results.store.read("examples", results.key(None, "examples docs_pair")) / "dev")
    reported = ~selection_half(dev)
    table = example_tables_at(results.folder)["docs_pair:accuracy"]
    assert reported.sum() == table.values.shape[1] == 3
    expected = [right(arm, seed, each)[reported] for arm in ARMS for seed in SEEDS for each in TUNING_SEEDS]
    assert table.values.tolist() == np.stack(expected).tolist()


@given(
    arrays(np.float32, (3, 7), elements=st.floats(0, 60, width=32))
    | arrays(np.float32, (2, 5), elements=st.sampled_from([0.0, 1.0]))
    | arrays(np.float32, (2, 5), elements=st.floats(0, 2**60, width=32))
)
def test_means_of_an_export_are_those_of_the_store_to_a_thousandth(values: np.ndarray) -> None:
    replicates = tuple(Replicate("a", seed) for seed in range(len(values)))
    files = attachments({"t:m part": ExampleTable("t:m part", replicates, values)})
    assert files == attachments({"t:m part": ExampleTable("t:m part", replicates, values)})
    assert files.keys() == {"t.m.part.npy.gz", INDEX}
    back = np.load(io.BytesIO(gzip.decompress(files["t.m.part.npy.gz"])), allow_pickle=False).astype(np.float64)
    assert back.mean(axis=1) == pytest.approx(values.mean(axis=1, dtype=np.float64), rel=1e-3, abs=1e-7)


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


@pytest.mark.parametrize(("later", "other"), [(None, "pretrain@64"), (["pretrain@64"], "pretrain@128")])
def test_the_losses_at_the_end_of_the_latest_budget_alone_are_kept(
    tmp_path: Path, later: list[JsonValue] | None, other: str
) -> None:
    results = Results(tmp_path / "results")
    with closing(Ledger(results.folder / LEDGER_NAME)) as ledger:
        if later is not None:
            declared: JsonValue = {"arms": [], "seeds": None, "labels": later, "stages": later, "shared": {}}
            told: dict[str, JsonValue] = {"after_record": 0, "moment": "", "changed": [], "impossible": []}
            identity: JsonValue = {"experiment": "x"}
            ledger.set_fact("amendment 1", {**told, "document": {}, "identity": identity, "declared": declared})
        ExampleKeeper(ledger, results.store).keep_all()
        read = [record for record in ledger.records() if record.label != other]
    wanted = {described.sha256 for record in read for _, described in example_files(record)}
    assert {path.stem for path in (results.folder / "examples").iterdir()} == wanted
