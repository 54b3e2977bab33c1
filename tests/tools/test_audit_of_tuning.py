"""The audit recomputes the tables of tuning as reports have them, and selects the recipes from the trials itself."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.csv_export import read_export
from ledger.example_tables import kept_example_tables
from ledger.snapshot import snapshot
from reports.by_recipe import at_own_recipes, at_shared_recipe, examples_at_own_recipes
from reports.sections.tuned_effects import tuned_tables
from reports.sections.tuning_trials import tuning_table
from reports.statistics.results import results_of
from reports.table import Table
from tests.factories.altered_ledgers import Ledger, kept_answers, kept_losses, paired
from tests.factories.tuned_ledgers import tuned
from tools.audit import exports
from tools.audit.compare import Outcome, compare_table, json_cells
from tools.audit.folders import TRAINING
from tools.audit.study import Study

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "table8-laptop"
KEPT = {"nothing kept": (), "examples kept": (kept_losses, kept_answers), "paired": (paired, kept_losses)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied = Path(shutil.copytree(PUBLISHED, tmp_path / "altered"))
    shutil.rmtree(copied / "ledger" / "examples")
    return copied


def tables_of(folder: Path) -> Sequence[Table]:
    rows = snapshot(read_export(folder))
    kept, own = kept_example_tables(folder), at_own_recipes(rows)
    assert rows.tuning is not None
    assert own is not None
    shared = results_of(at_shared_recipe(rows), example_tables=kept)
    at_own = results_of(own, example_tables=examples_at_own_recipes(rows, kept))
    return [*tuned_tables(shared, at_own), tuning_table(rows.tuning)]


def audited(tables: Sequence[Table], folder: Path) -> Outcome:
    study, outcome = Study(exports.read_export(folder)), Outcome()
    for table in tables:
        rule = replace(TRAINING[table.name], allowed={})
        compare_table(outcome, table.name, rule, [*json_cells(table.rows)], [*rule.rows(study, ())])
    return outcome


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("metric", ["held_out_loss", "score"])
def test_reports_and_the_audit_agree_on_tuning(metric: str, kept: str, folder: Path) -> None:
    ledger = Ledger(folder)
    for alter in (tuned(metric), *KEPT[kept]):
        alter(ledger)
    ledger.write()
    tables = tables_of(folder)
    outcome = audited(tables, folder)
    assert outcome.differences == []
    assert {table.name for table in tables} == {"tuned", "own_recipe", "tuning"}
    assert outcome.compared > 500
    (tuning,) = (table for table in tables if table.name == "tuning")
    chosen = {row["arm"]: row["point"] for row in tuning.rows if row["chosen"]}
    assert len(set(chosen.values())) > 1  # some arms leave the shared recipe, others keep it


def test_a_choice_that_the_trials_do_not_give_is_found(folder: Path) -> None:
    ledger = Ledger(folder)
    tuned("held_out_loss")(ledger)
    ledger.write()
    tables = tables_of(folder)
    for row in ledger.rows["records"]:
        if row["trial"].startswith("bottleneck@peak_learning_rate=0.001/"):
            row["result"] = json.dumps(json.loads(row["result"]) | {"held_out_loss": 4.4})
    ledger.write()
    found = {(each.file, each.column) for each in audited(tables, folder).differences}
    assert {("tuning", "value"), ("tuning", "chosen"), ("tuned", "recipe")} <= found
