"""`plan` prints, for every table of the paper, the released hyperparameters and costs beside its own."""

import json
from pathlib import Path

import pytest

from search_space.released.papers import published
from tasks.data_folder import HINT, VARIABLE
from tests.factories.command_calls import ROOT, Call


@pytest.mark.parametrize("table", ["table1", "table3", "table4", "kernel_size"])
def test_plan_at_paper_scale_sets_costs_beside_the_published_ones(call: Call, table: str, tmp_path: Path) -> None:
    file = ROOT / "experiments" / f"{table}.yaml"
    answer = call("plan", file, "--scale", "paper", "--out", tmp_path, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)["published"]
    assert found["rows"]
    assert found["fine_tuning"]
    assert all(taught["departures"] == [] for taught in found["fine_tuning"])
    for row in found["rows"]:
        assert row["departures"] == []
        assert row["train_flops"] == pytest.approx(row["published_train_flops"], rel=0.01)
        assert row["parameters"] == row["published_parameters"]
        assert row["source"] in published().sources.values()


def test_plan_tells_how_arms_are_trained_and_what_differs_from_the_papers_with_sources_of_counts(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    for told in (
        "every arm: 1,000,000 updates of 128 x 128 tokens, peak learning rate 0.0003 after 10,000 updates",
        "training departs from the release in: nothing declared",
        "fine-tuning departs from the release in: nothing declared",
        "convolution dynamic differs from the paper's: ",
        "assumed: bottleneck ratio 2",
        "12,721,368 our count of our layout 12,721,368",
        "13,143,768 released 13,143,768",
    ):
        assert told in text


def test_common_differences_of_arms_and_tasks_are_reported_once(call: Call, tmp_path: Path) -> None:
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "wikipedia", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert text.count("depth 2 (12)") == 1
    assert text.count("layer rate decay 1.0 (0.8)") == 1
    assert "fine-tuning of rte departs further in: sequence length 64 (128), epochs 3 (10)" in text


def test_plan_shows_every_tasks_settings_and_required_files(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert "fine-tuning of rte: 10 epochs of batches of 32 x 128 tokens, peak learning rate one of 5e-05" in text
    assert "layer-wise learning-rate decay 0.8" in text
    assert "expected: CoLA/train.tsv, CoLA/dev.tsv, from gluebenchmark.com/tasks (CoLA)" in text
    assert "expected: QNLI/train.tsv" in text
    assert text.count(HINT) == 1


def test_plan_tells_the_lengthening_and_that_its_cost_is_left_out(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    answer = call("plan", ROOT / "experiments" / "table4.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert "then before tasks of long texts 100,000 updates of 128 x 512, not in the FLOPs" in text
    assert "1.27e18 released 1.27e18, printed 1.3e18" in text
