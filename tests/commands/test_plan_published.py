"""`plan` prints, for every table of the paper, the released hyperparameters and costs beside its own."""

import json
from pathlib import Path

import pytest
from calling import ROOT, Call

from search_space.published import published


@pytest.mark.parametrize("table", ["table1", "table3", "kernel_size"])
def test_plan_at_paper_scale_sets_costs_beside_the_published_ones(call: Call, table: str, tmp_path: Path) -> None:
    file = ROOT / "experiments" / f"{table}.yaml"
    answer = call("plan", file, "--scale", "paper", "--out", tmp_path, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)["published"]
    assert found["rows"]
    for row in found["rows"]:
        assert row["departures"] == []
        assert row["train_flops"] == pytest.approx(row["published_train_flops"], rel=0.01)
        assert row["parameters"] == row["published_parameters"]
        assert row["source"] in published().sources.values()


def test_plan_tells_how_every_arm_is_trained(call: Call, tmp_path: Path) -> None:
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert "every arm: 1,000,000 updates of 128 x 128 tokens, peak learning rate 0.0003 after 10,000 updates" in text
    assert "span_dynamic is the paper's 'span-based dynamic': parameters 13,143,768 (released 13,143,768)" in text
