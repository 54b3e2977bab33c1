"""The papers' claims: each has a source and a test or a reason; verdicts are those of the published reports."""

import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from reports.claim_row import NOT_RUN, ClaimRow
from reports.formats.markdown import escape
from reports.number_format import NOTHING, signed
from reports.paper_claims import OVER_SEEDS_ALONE, claim_rows, markdown
from reports.paper_claims_file import FILE, DeclaredTest, read_paper_claims
from reports.sections.claims import claims_table
from reports.sections.evaluation_set import ALONE, SAMPLED
from reports.statistics.claims import ClaimOutcome
from reports.statistics.metrics import Metric
from reports.table import Row
from reports.views import own_results, shared_results
from steeplechase.commands.publish import PUBLISHED
from steeplechase.configuration.claims import parse_claim, parse_orderings
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import DESCRIPTIONS, HELD_OUT_LOSS, SCORE
from steeplechase.foundation.errors import ConfigurationError, MachineError
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.snapshot import snapshot_at
from tests.factories.experiment_files import experiment_of
from tests.factories.paths import EXPERIMENTS, ROOT

FOLDER = ROOT / PUBLISHED
CLAIMS = read_paper_claims(FOLDER)
TESTS = [(claim.id, tested, scale) for claim in CLAIMS for tested in claim.tested_by for scale in tested.scales]


def declared(experiment: Experiment) -> Iterator[str]:
    """Yield the claims of an experiment, those of the paper's orderings included."""
    yield from map(str, experiment.claims)
    paper = experiment.paper
    for chain in paper.orderings if paper else ():
        for ordering in parse_orderings(chain):
            for metric in (HELD_OUT_LOSS, SCORE):
                margin = paper.margins.get(metric) if paper else None
                yield str(ordering.on(metric, metric == HELD_OUT_LOSS, margin))


def test_every_claim_has_a_source_and_a_test_or_a_reason() -> None:
    assert [claim.id for claim in CLAIMS] == [f"O{number}" for number in range(1, 11)]
    for claim in CLAIMS:
        assert claim.source
        assert claim.tested_by or claim.searched_by or claim.untested, claim.id


@pytest.mark.parametrize(
    ("claim", "tested", "scale"), TESTS, ids=lambda value: str(getattr(value, "experiment", value))
)
def test_every_claim_is_declared_by_the_experiment_that_tests_it(
    claim: str, tested: DeclaredTest, scale: str
) -> None:
    experiment = experiment_of(f"{tested.experiment}.yaml", scale)
    if experiment.measure.latency is not None:
        assert set(tested.claims) <= set(experiment.measure.latency.faster)
    else:
        assert {str(parse_claim(text)) for text in tested.claims} <= set(declared(experiment)), claim


@cache
def published_rows() -> tuple[ClaimRow, ...]:
    return tuple(claim_rows(FOLDER, EXPERIMENTS))


@cache
def reported_claims(folder: Path) -> tuple[Row, ...]:
    """Return the claims table of a published report, from its rows; empty without trials."""
    found = snapshot_at(folder)
    if not found.has_trials:
        return ()
    tables = kept_example_tables(folder)
    return claims_table(own_results(found, None, tables) or shared_results(found, None, tables)).rows


def test_verdicts_are_those_of_the_published_tables() -> None:
    compared = 0
    for test in published_rows():
        folder = FOLDER / test.experiment.replace(" ", "-")
        if test.verdict.startswith(NOT_RUN) or not has_export(folder):
            continue
        rows = {str(row["claim"]): row for row in reported_claims(folder)}
        same = [row for text, row in rows.items() if test.metric in text and test.test[1:-1] == shown(text)]
        for row in same:
            assert (row["verdict"], row["n"]) == (test.verdict, test.n), test
            if row["delta"] is None:
                continue
            delta = signed(float(str(row["delta"])), decimals(test.difference))
            assert test.difference.startswith(delta)
            compared += 1
        assert same or not rows or "not declared before the run" in test.caveats, test
    assert compared >= 15


def shown(text: str) -> str:
    claim = parse_claim(text)
    size = text.rpartition(f"{claim.second})")[2]
    return f"{claim.first} {claim.sign} {claim.second}{size}"


def decimals(text: str) -> int:
    return len(text.partition(" ")[0].partition(".")[2])


def test_the_table_beside_the_published_reports_is_the_one_that_the_command_prints() -> None:
    assert (FOLDER / "claims.md").read_text(encoding="utf-8") == markdown(FOLDER, published_rows())


def test_what_a_test_has_in_place_of_the_papers_setting_is_beside_its_verdict() -> None:
    departing = [test for test in published_rows() if test.departure and test.scope]
    assert departing
    rows = [line for line in markdown(FOLDER, published_rows()).splitlines() if line.startswith("|")]
    for test in departing:
        assert any(test.test in row and row.endswith(f"; {escape(test.departure)} |") for row in rows), test


def test_what_was_run_carries_the_size_and_the_training_that_its_verdict_is_about() -> None:
    for test in published_rows():
        assert bool(test.scope) == (test.n is not None or test.difference != NOTHING), test
    scopes = {test.scope for test in published_rows() if "span_dynamic_4x < baseline_4x" in test.test}
    assert scopes == {"235k to 236k parameters, 64M tokens (8 passes over the text), masked language model"}


def test_intervals_over_seeds_alone_are_called_that_and_no_others() -> None:
    """The reports' conditions say the same, from the exported rows."""
    said = {True: 0, False: 0}
    for test in published_rows():
        report = FOLDER / test.experiment.replace(" ", "-") / "report.md"
        if test.estimate is not None and report.is_file() and test.metric not in DESCRIPTIONS:
            found = re.search(rf"\*\*{SAMPLED}:\*\* (.*)", report.read_text(encoding="utf-8").replace("\\", ""))
            if found:  # a search has no such line
                title, alone = Metric(test.metric).title, OVER_SEEDS_ALONE in test.caveats
                sampled = found[1].removeprefix("intervals of differences are over: ").split("; ")
                own = next((each for each in sampled if title in each.partition(": seeds")[0].split(", ")), ALONE)
                assert alone == (ALONE in own or "but not those of" in own), test
                said[alone] += 1
    assert all(said.values())


def test_without_published_reports_every_claim_on_arms_has_its_cost(tmp_path: Path) -> None:
    shutil.copy(FOLDER / FILE, tmp_path / FILE)
    tests = list(claim_rows(tmp_path, EXPERIMENTS))
    assert {test.claim for test in tests} == {claim.id for claim in CLAIMS}
    for test in [test for test in tests if test.claim != "O10" and test.test != NOTHING]:  # searches are recorded
        assert test.verdict.startswith(NOT_RUN)
        assert "FLOPs" in test.verdict or test.experiment.startswith(("table9", "–")), test


def test_a_claim_on_a_task_below_a_reference_is_not_tested_and_costs_the_others_nothing(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "table8-laptop", tmp_path / "table8-laptop")
    below, above = (f"{task}(span_dynamic) > {task}(baseline)" for task in ("docs_acceptability", "docs_answer"))
    alone, beside = (claims_on_table8(tmp_path, *claims) for claims in ((above,), (above, below)))
    (untested,) = (test for test in beside if test.metric == "docs_acceptability")
    assert untested.verdict == ClaimOutcome.NOT_TESTED
    assert "on docs_acceptability the arms do not exceed every reference" in untested.caveats
    assert untested.estimate is None
    assert untested.detectable == NOTHING
    assert alone[0].detectable == next(test.detectable for test in beside if test.metric == "docs_answer")


def claims_on_table8(folder: Path, *claims: str) -> list[ClaimRow]:
    tested = f'experiment = "table8"\nscales = ["laptop"]\nclaims = {json.dumps(claims)}\n'
    named = 'id = "A"\nstatement = "b"\nsource = "c"\n'
    (folder / FILE).write_text(f"[[claims]]\n{named}[[claims.tested_by]]\n{tested}", encoding="utf-8")
    return [*claim_rows(folder, EXPERIMENTS)]


def test_a_file_that_is_missing_or_wrong_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no such file"):
        read_paper_claims(tmp_path)
    (tmp_path / FILE).write_text("[[claims]]\nid = ", encoding="utf-8")
    with pytest.raises(ConfigurationError):
        read_paper_claims(tmp_path)
    tested = '[[claims.tested_by]]\nexperiment = "a"\nscales = ["b"]\nclaims = ["loss(a) is loss(b)"]\n'
    (tmp_path / FILE).write_text(f'[[claims]]\nid = "A"\nstatement = "b"\n{tested}', encoding="utf-8")
    with pytest.raises(ConfigurationError) as refusal:
        read_paper_claims(tmp_path)
    assert len(refusal.value.lines) == 2
    assert "source: Field required" in refusal.value.lines[0]
    assert "is not a claim" in refusal.value.lines[1]
