"""Two implementations of docs/statistics.md agree: reports and the audit, on altered copies of a published ledger."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.formats.csv import render_table
from reports.sections.claims import claims_table
from reports.sections.main_table import results_table
from reports.sections.verdicts import effects_table
from reports.statistics.reading import results_of
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import snapshot
from tests.factories import altered_ledgers as altered
from tests.factories.altered_ledgers import RIVALS, Ledger
from tools.audit.__main__ import TABLES, compare
from tools.audit.rows import Study

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "table8-laptop"
VARIANTS: dict[str, tuple[Callable[[Ledger], None], ...]] = {
    "unequal seeds": (altered.margins, altered.claims, altered.unequal_seeds),
    "score alone, metrics of the paper": (
        altered.score_alone,
        altered.metrics_of_the_paper,
        altered.another_fine_tuning_seed,
    ),
    "diverged seeds": (altered.diverged_seeds, altered.unequal_seeds),
    "answers of examples": (altered.unequal_seeds, altered.kept_answers, altered.kept_losses),
    "arms with other held-out losses": (altered.other_losses(*RIVALS), altered.kept_losses, altered.margins),
    "untrained encoders, unequal seeds": (altered.untrained_encoders, altered.unequal_seeds, altered.claims),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_reports_and_the_audit_agree(variant: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PUBLISHED, tmp_path / "altered"))
    shutil.rmtree(folder / "ledger" / "examples")  # values of single examples are those that a variant adds
    ledger = Ledger(folder)
    for alter in VARIANTS[variant]:
        alter(ledger)
    ledger.write()
    results = results_of(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))
    tables = [make(results) for make in (results_table, effects_table, claims_table)]
    study = Study(folder / "ledger", {str(row["metric"]) for row in tables[0].rows}, {})
    for table in tables:
        rows, keys = TABLES[table.name]
        shown = [*csv.DictReader(render_table(table).replace(",'", ",").splitlines())]
        differences, compared = compare(table.name, keys, shown, rows(study))
        assert differences == []
        assert compared >= len(shown)
