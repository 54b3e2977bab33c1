"""Numbers in the notes before the texts about published reports: each is computed from the records of tasks."""

from ledger.csv_export import read_export
from ledger.records import with_results
from ledger.stage_results import ExamplesResult
from tests.reports.test_stories import PUBLISHED


def test_truncated_shares_and_lost_answers_are_those_of_the_records() -> None:
    page = " ".join((PUBLISHED / "README.md").read_text(encoding="utf-8").split("\n## ", 1)[0].split())
    figures = {
        result.task: result.dev
        for name in ("table2-laptop", "table2-wikipedia-former")
        for _, result in with_results(read_export(PUBLISHED / name).records(), ExamplesResult)
    }
    share = {task: f"{100 * (getattr(part, 'truncated_share', 0) or 0):.1f}%" for task, part in figures.items()}
    answers = figures["docs_answer"]
    assert f"{share['docs_answer']} of `docs_answer`'s {answers.examples:,} dev inputs" in page
    assert f"the answers of {answers.answers_lost} are cut off" in page
    assert (
        f"{share['mrpc']} of MRPC's dev inputs, {share['rte']} of RTE's and {share['stsb']} of STS-B's are cut"
        in page
    )
