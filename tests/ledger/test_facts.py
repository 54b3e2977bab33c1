"""Facts and rows of a stranger's ledger, sealed again: a value of another type is refused in one line."""

import pytest

from steeplechase.ledger.facts import checked_fact
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.rows import R, parsed_text
from tests.factories.keys import KEY

DEEP = "[" * 5000 + "]" * 5000
ARM = '"candidate":{},"changes":{},"position":0,"parameters":1,"forward_flops":2'
RECORD = f'"sequence":1,"trial":null,"stage":"pretrain","label":"a","key":"{KEY}","reused":false'
LOSS = '"status":"finished","result":{"tokens":1,"held_out_loss":2.0}'


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("experiment", "7", "string"),
        ("labels", '"pretrain@1"', "list"),
        ("labels", '["pretrain@1", 2]', "1: "),
        ("labels", f'["pretrain@{"9" * 5000}"]', "0: "),
        ("document", "[]", "dictionary"),
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
