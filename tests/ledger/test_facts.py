"""Facts, rows and results of stages: read back as written, and of another type refused in one line."""

import copy
import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.stages.stage import stage_kinds
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.canonical import canonical_text, fingerprint
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.csv_export import read_export, write_export
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.facts import checked_fact
from steeplechase.ledger.paths import CHECKSUM_FILE, EXPORT_FOLDER
from steeplechase.ledger.records import (
    ArmRow,
    Decision,
    Record,
    Status,
    TrialRow,
    curve_of,
    final_loss_of,
    with_results,
)
from steeplechase.ledger.rows import R, parsed_text, read_result
from steeplechase.ledger.stage_results import FineTuneResult, PretrainResult, StageResult, result_class
from tests.factories.keys import KEY
from tests.factories.ledger_rows import filled
from tests.factories.stage_results import PLAUSIBLE, ends, plausible, result_of

DEEP = "[" * 5000 + "]" * 5000
ARM = '"candidate":{},"changes":{},"position":0,"parameters":1,"forward_flops":2'
RECORD = f'"sequence":1,"trial":null,"stage":"pretrain","label":"a","key":"{KEY}","reused":false'
LOSS = '"status":"finished","result":{"tokens":1,"held_out_loss":2.0}'


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("experiment", "7", "string"),
        ("labels", '"pretrain@1"', "array"),
        ("labels", '["pretrain@1", 2]', "1: "),
        ("labels", f'["pretrain@{"9" * 5000}"]', "0: "),
        ("document", "[]", "object"),
        ("document", '{"a": NaN}', "expected value"),
        ("document", DEEP, "recursion"),
        ("identity", '{"experiment": "a", "pretraining": []}', "pretraining"),
        ("parents", '{"a": []}', "a: "),
        ("impossible", '[["a", 1]]', "0.1"),
        ("session 1", '{"started": "now", "machine": {}}', "command"),
        ("session 1 duration", '{"seconds": -1.0}', "seconds"),
        ("session 1 stopped", '{"unfinished_seconds": []}', "unfinished_seconds"),
        ("reused 1", '{"name": "a", "sha256": "../..", "machines": []}', "sha256"),
        ("amendment 1", '{"document": {}}', "after_record"),
        ("amendment 2 ", "[]", ""),
        ("reported half docs", '[8, "zz"]', "hexadecimal"),
        ("own_recipes", '[{"arm": "a", "point": 3, "values": [1.0], "own": "a"}]', "has no point 3"),
    ],
)
def test_a_fact_of_another_type_is_refused_in_one_line(name: str, text: str, where: str) -> None:
    if not where:
        checked_fact(name, text)  # the name of no fact
        return
    with pytest.raises(ValueError, match=where) as refused:
        checked_fact(name, text)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "text", "where"),
    [
        (ArmRow, "[]", "not an object"),
        (ArmRow, DEEP, "recursion"),
        (ArmRow, f'{{"name":"a",{ARM},"train_flops":3}}', "cohort"),
        (ArmRow, f'{{"name":"a",{ARM},"cohort":-1,"train_flops":3}}', "cohort"),
        (ArmRow, f'{{"name":"a",{ARM},"cohort":0,"train_flops":{10**400}}}', "train_flops"),
        (TrialRow, '{"name":"a/1","arm":"a","seed":"1"}', "seed"),
        (Record, f'{{{RECORD},{LOSS},"seconds":-1.0}}', "seconds"),
        (Record, f'{{{RECORD},"status":{{}},"result":{{}},"seconds":1.0}}', "Input should be"),
        (Record, f'{{{RECORD},"status":"failed","result":{{"error":"e","attempts":-1}},"seconds":1.0}}', "attempts"),
        (
            Decision,
            '{"sequence":1,"trial":"a/1","level":0,"cleared":1,"value":1.0,"threshold":2.0,"cohort":[]}',
            "cl",
        ),
    ],
)
def test_a_row_of_another_type_is_refused_in_one_line(kind: type[R], text: str, where: str) -> None:
    with pytest.raises((ValueError, TypeError), match=where) as refused:
        parsed_text(kind, text, {})
    assert len(str(refused.value).splitlines()) == 1


@given(ends())
def test_results_survive_a_round_trip_as_text(end: tuple[str, Status, dict[str, Any]]) -> None:
    kind, status, document = end
    assert canonical_text(result_of(kind, document, status).as_json) == canonical_text(document)


@given(ends(), st.data())
def test_an_unknown_field_and_a_missing_one_are_refused_by_name(
    end: tuple[str, Status, dict[str, Any]], data: st.DataObject
) -> None:
    kind, status, document = end
    with pytest.raises(ValueError, match=rf"^the result of a {status.value} {kind} stage: mood.*[^\n]$"):
        result_of(kind, {**document, "mood": "calm"}, status)
    required = [
        name for name, one in type(result_of(kind, document, status)).model_fields.items() if one.is_required()
    ]
    for name in required[:1] and [data.draw(st.sampled_from(required))]:
        with pytest.raises(ValueError, match=name):
            result_of(kind, {key: value for key, value in document.items() if key != name}, status)


@pytest.mark.parametrize("text", ["", "null", "[]", '{"tokens": 1', '{"tokens": "many", "held_out_loss": 1.0}'])
def test_damaged_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="the result of a finished pretrain stage") as error:
        read_result("pretrain", Status.FINISHED, text)
    assert "\n" not in str(error.value)


def test_every_kind_of_stage_has_a_result() -> None:
    assert set(stage_kinds()) <= set(PLAUSIBLE)
    for kind in PLAUSIBLE:
        assert type(plausible(kind)) is result_class(kind, Status.FINISHED)
        assert canonical_text(copy.deepcopy(plausible(kind)).as_json) == canonical_text(dict(PLAUSIBLE[kind]))
    with pytest.raises(ValueError, match="'dream' is not a kind of stage"):
        read_result("dream", Status.FINISHED, "{}")


def test_a_value_that_is_not_finite_is_none() -> None:
    curve = ((64, math.nan), (math.inf, 3.0), (128, 2.5))
    result: StageResult = PretrainResult(tokens=128, held_out_loss=math.inf, held_out_curve=curve)
    record = Record(1, "a/1", "pretrain", "pretrain@128", KEY, Status.FINISHED, result, 1.0, reused=False)
    assert (final_loss_of(record), curve_of(record)) == (None, {128: 2.5})
    tuned = FineTuneResult(task="rte", seed=1, examples=9, scores={"f1": math.nan, "accuracy": 5, "-": -math.inf})
    assert (tuned.score("f1"), tuned.score("accuracy"), tuned.score("none")) == (None, 5.0, None)
    assert tuned.finite_scores == {"accuracy": 5.0}
    assert [*with_results([record], FineTuneResult)] == []


def test_scores_and_flags_of_further_parts_are_read_by_part() -> None:
    found = result_of("fine_tune", {**PLAUSIBLE["fine_tune"], "scores test": {"f1": 7.5}, "constant test": True})
    assert isinstance(found, FineTuneResult)
    assert found.finite_scores == {"accuracy": 62.5, "f1 test": 7.5}
    assert found.constant_parts == ("test",)
    for name, value in (("scores test", True), ("constant test", {}), ("scores", True), ("test scores", {})):
        with pytest.raises(ValueError, match=name.partition(" ")[0]):
            result_of("fine_tune", {**PLAUSIBLE["fine_tune"], name: value})


@pytest.mark.parametrize(
    ("table", "name", "content"),
    [
        ("records", "result", {"tokens": 1, "held_out_loss": 2.0, "mood": "calm"}),
        ("records", "status", "calm"),
        ("arms", "candidate", {"mood": "calm"}),
    ],
)
def test_a_damaged_row_is_refused_with_its_file_and_place(
    tmp_path: Path, table: str, name: str, content: object
) -> None:
    ledger = filled(tmp_path / "ledger.sqlite")
    write_export(ledger, tmp_path)
    connection = ledger._connection
    (row, text) = connection.execute(f"SELECT name, content FROM {table} WHERE sequence = 2").fetchone()
    changed = canonical_text({**json.loads(text), name: content})
    values = (changed, fingerprint([2, row, changed]))
    connection.execute(f"UPDATE {table} SET content = ?, checksum = ? WHERE sequence = 2", values)
    ledger.close()
    with pytest.raises(CorruptionError, match=rf"ledger\.sqlite: {table} row 2: .*") as refused:
        getattr(Ledger(tmp_path / "ledger.sqlite"), table)()
    assert "\n" not in str(refused.value)
    _change_export(tmp_path, table, name, content)
    with pytest.raises(CorruptionError, match=rf"{table}\.csv:3: .*; restore the file"):
        read_export(tmp_path)


def _change_export(folder: Path, table: str, name: str, content: object) -> None:
    path = folder / EXPORT_FOLDER / f"{table}.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    rows[2][rows[0].index(name)] = content if isinstance(content, str) else json.dumps(content)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    checksums = json.loads((folder / EXPORT_FOLDER / CHECKSUM_FILE).read_text())
    checksums["sha256"][path.name] = sha256_of(path)
    (folder / EXPORT_FOLDER / CHECKSUM_FILE).write_text(json.dumps(checksums))
