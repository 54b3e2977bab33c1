"""The paper's numbers and the measured ones: found, not found, not measured, and caveats."""

from dataclasses import replace
from typing import Any

from reports.report import Report, build
from search_space.candidate import Candidate
from search_space.recipe import Recipe
from search_space.released.models import PRESETS
from tests.factories.read_reports import rows_of
from tests.factories.reports import Trial, document, primary, snapshot

ELECTRA_ROW, CONVBERT_ROW = "ELECTRA-Small", "ConvBERT-Small 1M"
PAPER = {"source": "the paper", "statement": "words", "orderings": []}


def report(paper: dict[str, Any] | None, tasks: tuple[str, ...] = ("docs_pair", "docs_answer")) -> Report:
    arms = {"baseline": {}, "span_dynamic": {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic"}}}
    trials = [
        Trial(name, seed).pretrained(3.0 + seed / 100)
        for name in arms
        for seed in (1, 2, 3)
    ]  # fmt: skip
    for trial in trials:
        for task in tasks:
            for seed in (1, 2):
                trial.tuned(task, seed, **{primary(task): 60.0 + trial.seed})
    more = {} if paper is None else {"paper": {**PAPER, **paper}}
    view = snapshot(trials, arms, tasks, resolved=document(tasks, **more))
    return build(view, primary=primary)


def texts(report: Report, name: str) -> list[list[str]]:
    return [[cell.text for cell in row] for grid in report.grids if grid.name == name for row in grid.rows]


def test_an_experiment_without_a_published_table_has_no_such_section() -> None:
    built = report(None)
    assert not {"paper", "departures"} & {table.name for table in built.tables}


def test_the_papers_score_is_beside_the_measured_one_with_caveats() -> None:
    built = report({"table": "table3", "rows": {"baseline": ELECTRA_ROW, "span_dynamic": CONVBERT_ROW}})
    (score,) = [row for row in rows_of(built, "paper") if (row["arm"], row["measure"]) == ("span_dynamic", "score")]
    assert (score["paper"], score["mean"], score["n"]) == (78.9, 62.0, 3)
    assert "test" in score["beware"]
    assert "docs_answer, docs_pair" in score["beware"]
    assert "Table 3" in score["source"]


def test_a_task_of_the_paper_can_be_not_measured_or_not_found() -> None:
    cells = texts(report({"table": "table3", "rows": {"baseline": ELECTRA_ROW}}), "paper")
    assert ["baseline", ELECTRA_ROW, "mnli: accuracy", "79.7", "not measured", ""] in cells
    cells = texts(report({"table": "table2", "rows": {"span_dynamic": "span-based dynamic"}}), "paper")
    (score,) = [row for row in cells if row[2] == "score"]
    assert score[3].startswith("not found; best")
    assert score[4] == "62.0 ± 1.0 (3)"


def test_differences_are_computed_from_the_declaration() -> None:
    built = report({"table": "table3", "rows": {"baseline": ELECTRA_ROW, "span_dynamic": CONVBERT_ROW}})
    departures = {row["where"]: row["what"] for row in rows_of(built, "departures")}
    updates = -(-2_000_000 // PRESETS["electra-small"].candidate.recipe.tokens_per_step)
    assert f"updates {updates} (1,000,000)" in departures["every arm"]
    assert departures["text"] == "documentation (OpenWebText)"
    assert "layer rate decay 1.0 (0.8)" in departures["fine-tuning"]
    assert "bias correction" in departures["always"]


def test_a_task_with_the_papers_name_is_the_papers_column() -> None:
    built = report({"table": "table3", "rows": {"baseline": ELECTRA_ROW}}, tasks=("rte", "docs_pair"))
    (rte,) = [row for row in rows_of(built, "paper") if row["measure"] == "rte:accuracy"]
    assert (rte["paper"], rte["mean"]) == (60.8, 62.0)
    assert rte["beware"] == "test, single model, one task at a time there, dev here"


def test_a_description_without_a_published_value_has_the_papers_direction() -> None:
    cells = texts(report({"table": "table8", "rows": {"baseline": "BERT"}}), "paper")
    (attention,) = [row for row in cells if row[2] == "attention diagonal"]
    assert attention[3:] == ["not found; above ConvBERT", "not measured", ""]


def test_costs_of_an_arm_with_a_long_sequence_phase_leave_that_phase_out() -> None:
    arms, longer = {"baseline": {}, "longer": {}}, Candidate(recipe=Recipe(long_sequence_share=0.1))
    paper = {**PAPER, "table": "table4", "rows": {"longer": CONVBERT_ROW}}
    text = document(("squad_v1_1",), paper=paper)
    view = snapshot([Trial(name, 1).pretrained(3.0) for name in arms], arms, ("squad_v1_1",), resolved=text)
    long_sequences = tuple(replace(arm, candidate=longer) if arm.name == "longer" else arm for arm in view.arms)
    view = replace(view, arms=long_sequences)
    (flops,) = [row for row in rows_of(build(view, primary=primary), "paper") if row["measure"] == "train_flops"]
    assert flops["beware"] == "both by ELECTRA's count, both without the lengthening"


def test_fine_tuning_differences_of_single_tasks_are_reported_for_them_only() -> None:
    built = report({"table": "table3", "rows": {"baseline": ELECTRA_ROW}}, tasks=("rte", "sst2"))
    (differences,) = [row["what"] for row in rows_of(built, "departures") if row["where"] == "fine-tuning"]
    assert differences == "layer rate decay 1.0 (0.8); of rte: epochs 3 (10)"
