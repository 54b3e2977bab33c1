"""What a report and a refusal say of a study that changed after results."""

from pathlib import Path

import pytest

from reports.report import build
from steeplechase.foundation.errors import ConflictError
from tests.runners.test_growth import ARMS, Study, found_in, study


def test_an_arm_that_comes_back_with_another_value_is_refused_with_both_values(tmp_path: Path) -> None:
    here = Study(tmp_path)
    here.run(study(tmp_path, ["narrow", "dynamic"]))
    here.run(study(tmp_path, ["dynamic"]))
    other = {"narrow": {"bottleneck_ratio": 4}, "dynamic": ARMS["dynamic"]}
    with pytest.raises(ConflictError) as refused:
        here.run(study(tmp_path, design={"kind": "list", "arms": other}))
    assert "design.narrow.architecture.bottleneck_ratio: 2 there, 4 here" in str(refused.value)
    assert "design.dynamic" not in str(refused.value)


def test_the_report_names_arms_and_claims_that_were_left_out_after_results(tmp_path: Path) -> None:
    here, claims = Study(tmp_path), ["held_out_loss(narrow) < held_out_loss(baseline)"]
    here.run(study(tmp_path, ["narrow", "dynamic"], claims=claims))
    renamed = {"design": {"kind": "list", "arms": {"other": ARMS["narrow"]}}}
    less = build(found_in(here.run(study(tmp_path, **renamed))))
    gone = dict(less.footer)["Left out after results"]
    assert gone.startswith("arm dynamic after at least 6 results (record ")
    assert "; claim held_out_loss(narrow) < held_out_loss(baseline) after at least " in gone
    assert "narrow after" not in gone.partition(";")[0]  # it has another name
    assert "exploratory, since 1 arm was left out after results" in less.finding
    whole = build(found_in(here.run(study(tmp_path, ["narrow", "dynamic"], claims=claims))))
    assert "Left out after results" not in dict(whole.footer)
    assert "left out" not in whole.finding
