"""Rows as CSV: round trips, cells that no spreadsheet runs, damaged exports, and published ledgers to the byte."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_space.candidate import Candidate
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import CorruptionError, MachineError
from steeplechase.ledger.csv_cells import FORMULA_STARTS, escaped, unescaped
from steeplechase.ledger.csv_export import ExportedLedger, read_export, write_export
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.example_tables import attachments, example_tables
from steeplechase.ledger.paths import CHECKSUM_FILE, EXPORT_FOLDER, has_export
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.snapshot import snapshot_at
from tests.factories.keys import key_of
from tests.factories.ledger_rows import everything, filled
from tests.factories.stage_results import drawn_records

NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
COSTS = {"position": 0, "cohort": 0, "parameters": 1, "forward_flops": 2, "train_flops": 2**70}
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)


def exported(rows: ExportedLedger, folder: Path) -> ExportedLedger:
    write_export(rows, folder)
    return read_export(folder)


@given(
    name=NAMES,
    other=st.none() | NAMES,
    document=DOCUMENTS,
    record=drawn_records(),
    value=st.none() | st.floats(-1e9, 1e9),
    flag=st.booleans(),
)
def test_rows_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    other: str | None,
    document: dict[str, object],
    record: Record,
    value: float | None,
    flag: bool,
) -> None:
    others = () if other in (None, name) else (TrialRow(other, name, 1),)  # which the record refers to
    rows = ExportedLedger(
        Path(),
        {"experiment": name, "document": document or None},  # type: ignore[dict-item]
        (ArmRow(name, Candidate(), document, document, other, **COSTS),),  # type: ignore[arg-type]
        (TrialRow(name, name, 2**32 - 1, None if flag else 3), *others),
        (replace(record, sequence=1, trial=other, label=name, key=key_of(name)),),
        (Decision(1, name, 0, flag, value, value, 2, (name, "b")),),
    )
    read = exported(rows, tmp_path_factory.mktemp("export"))
    assert read.fact("experiment") == name
    assert (read.arms(), read.trials(), read.records(), read.decisions()) == (
        rows.arms(),
        rows.trials(),
        rows.records(),
        rows.decisions(),
    )


def test_reading_returns_the_rows_and_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "ledger.sqlite")
    first = [path.read_bytes() for path in write_export(ledger, tmp_path)]
    read = read_export(tmp_path)
    assert everything(read) == everything(ledger)  # type: ignore[arg-type]
    assert [path.read_bytes() for path in write_export(read, tmp_path)] == first
    ledger.close()


def test_a_name_that_a_spreadsheet_would_run_as_a_formula_is_escaped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.add_arm(ArmRow("+wider", Candidate(), {}, **COSTS))
    write_export(ledger, tmp_path)
    assert "\n'+wider," in (tmp_path / EXPORT_FOLDER / "arms.csv").read_text()
    assert read_export(tmp_path).arms()[0].name == "+wider"
    ledger.close()


@pytest.mark.parametrize(
    "name", ["arms.csv", "trials.csv", "records.csv", "decisions.csv", "facts.csv", CHECKSUM_FILE]
)
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_the_error_for_a_damaged_export_names_the_file(tmp_path: Path, name: str, damage: str) -> None:
    ledger = filled(tmp_path / "ledger.sqlite")
    write_export(ledger, tmp_path)
    ledger.close()
    path = tmp_path / EXPORT_FOLDER / name
    path.write_text(path.read_text().replace("a", "b", 1)) if damage == "changed" else path.unlink()
    with pytest.raises(CorruptionError, match=name):
        read_export(tmp_path)


def test_an_unknown_column_is_an_error_and_a_missing_one_has_its_default(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "ledger.sqlite")
    write_export(ledger, tmp_path)
    ledger.close()
    path = tmp_path / EXPORT_FOLDER / "trials.csv"
    cells = [line.split(",")[:3] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{','.join(row)}\n" for row in cells))
    _update_checksum(path)
    assert read_export(tmp_path).trials() == tuple(TrialRow(name, arm, int(seed)) for name, arm, seed in cells[1:])
    path.write_text("name,arm,seed,mood\na/1,a,1,calm\n")
    _update_checksum(path)
    with pytest.raises(CorruptionError, match=r"trials\.csv:1: unknown columns: mood"):
        read_export(tmp_path)
    path.write_text("name,arm,seed\na/1,a\n")
    _update_checksum(path)
    with pytest.raises(CorruptionError, match=r"trials\.csv:2: 2 cells under 3 columns"):
        read_export(tmp_path)


def test_the_error_for_a_folder_without_rows_names_the_command(tmp_path: Path) -> None:
    assert not has_export(tmp_path)
    with pytest.raises(MachineError, match="steeplechase run"):
        snapshot_at(tmp_path)


def _update_checksum(path: Path) -> None:
    checksums = json.loads((path.parent / CHECKSUM_FILE).read_text())
    checksums["sha256"][path.name] = sha256_of(path)
    (path.parent / CHECKSUM_FILE).write_text(json.dumps(checksums))


TEXTS = st.one_of(st.text(), st.tuples(st.sampled_from([*FORMULA_STARTS, "'"]), st.text()).map("".join))


@given(TEXTS)
def test_no_cell_begins_as_a_formula_and_reading_gives_the_text_back(text: str) -> None:
    assert not escaped(text).startswith(FORMULA_STARTS)
    assert unescaped(escaped(text)) == text


PUBLISHED = sorted((Path(__file__).parents[2] / "reports" / "published").glob(f"*/{EXPORT_FOLDER}"))


@pytest.mark.parametrize("ledger", PUBLISHED, ids=lambda path: path.parent.name)
def test_a_published_ledger_is_written_back_byte_for_byte(ledger: Path, tmp_path: Path) -> None:
    rows = read_export(ledger.parent)
    for written in write_export(rows, tmp_path, attachments(example_tables(ledger.parent, rows))):
        original = ledger / written.relative_to(tmp_path / EXPORT_FOLDER)
        assert written.read_bytes() == original.read_bytes(), original.name
