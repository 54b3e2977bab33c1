"""Two implementations of docs/statistics.md agree: reports and the audit, on altered copies of a published ledger."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.csv_export import read_export
from ledger.example_tables import kept_example_tables
from ledger.snapshot import snapshot
from reports.sections.claims import claims_table
from reports.sections.divergence import divergence_table
from reports.sections.example_tests import example_tests_table
from reports.sections.generated_texts import samples_table, scores_table
from reports.sections.main_table import results_table
from reports.sections.shapley import shapley_table
from reports.sections.task_pilot import pilot_table
from reports.sections.variance import noise_table
from reports.sections.verdicts import effects_table
from reports.statistics.example_tests import compared_on_examples
from reports.statistics.results import results_of
from reports.statistics.shapley import shapley_values_of
from tests.factories.altered_ledgers import (
    RIVALS,
    Ledger,
    another_fine_tuning_seed,
    claims,
    components,
    diverged_seeds,
    first_look,
    further_split,
    generated_texts,
    kept_answers,
    kept_losses,
    kept_overlaps,
    last_look,
    loss_alone,
    margins,
    metrics_of_the_paper,
    other_losses,
    paired,
    score_alone,
    single_task,
    unequal_seeds,
    untrained_encoders,
)
from tools.audit import exports
from tools.audit.compare import Outcome, compare_table, json_cells
from tools.audit.folders import TRAINING
from tools.audit.study import Study

PUBLISHED = Path(__file__).parents[2] / "reports" / "published" / "table8-laptop"
NUMERICAL = ("smallest_effect", "detectable_low", "detectable_high", "power", "seeds_to_decide")
"""By numerical integration, whose error is no difference between the two implementations' rules."""
VARIANTS: dict[str, tuple[Callable[[Ledger], None], ...]] = {
    "as published": (),
    "paired": (paired, margins),
    "first of three looks": (first_look, claims),
    "last of two looks, paired": (last_look, paired),
    "margins, claims, unequal seeds": (margins, claims, unequal_seeds),
    "metrics of the paper, score alone": (metrics_of_the_paper, score_alone, unequal_seeds),
    "loss alone": (loss_alone,),
    "a single task": (single_task, claims, margins),
    "a single task, metrics of the paper": (single_task, metrics_of_the_paper, another_fine_tuning_seed),
    "a further split, generated texts": (further_split, generated_texts),
    "a single task with a further split, unequal seeds": (single_task, further_split, unequal_seeds),
    "diverged seeds": (diverged_seeds,),
    "diverged seeds, paired": (diverged_seeds, paired, unequal_seeds),
    "another fine-tuning seed": (another_fine_tuning_seed, margins),
    "losses of single predictions": (kept_losses, margins, claims),
    "losses of single predictions, paired": (kept_losses, paired),
    "one arm with another held-out loss": (other_losses("dynamic"), kept_losses, claims),
    "arms with other held-out losses": (other_losses(*RIVALS), kept_losses, margins),
    "answers of single examples": (kept_answers, kept_losses),
    "answers of single examples, paired, unequal seeds": (unequal_seeds, kept_answers, paired),
    "answers of single examples, another fine-tuning seed": (another_fine_tuning_seed, kept_answers),
    "overlaps of single examples, first of three looks": (first_look, kept_overlaps, kept_losses),
    "components": (components,),
    "untrained encoders": (untrained_encoders, claims),
    "untrained encoders, one arm with two seeds": (untrained_encoders, unequal_seeds),
}
KEPT = (kept_losses, kept_answers, kept_overlaps)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reports_and_the_audit_agree(variant: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PUBLISHED, tmp_path / "altered"))
    if VARIANTS[variant]:  # values of single examples are those that a variant adds
        shutil.rmtree(folder / "ledger" / "examples")
    ledger = Ledger(folder)
    for alter in VARIANTS[variant]:
        alter(ledger)
    ledger.write()

    results = results_of(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))
    tables = [make(results) for make in (results_table, effects_table, noise_table, claims_table, divergence_table)]
    tables += [shapley_table(values)] if (values := shapley_values_of(results)) else []
    example_tests = example_tests_table(compared_on_examples(results))
    tables += [example_tests] if example_tests.rows else []
    tables += [table for make in (scores_table, samples_table, pilot_table) if (table := make(results)).rows]
    study, outcome = Study(exports.read_export(folder)), Outcome()
    for table in tables:
        rule = TRAINING[table.name]
        rule = replace(rule, skipped={**rule.skipped, **dict.fromkeys(NUMERICAL, "numerical")})
        compare_table(outcome, table.name, rule, [*json_cells(table.rows)], [*rule.rows(study, ())])
    assert outcome.differences == []
    assert outcome.compared > 300
    if untrained_encoders in VARIANTS[variant]:
        assert {"", "untrained"} <= {row["exceeded"] for row in pilot_table(results).rows}
    kept = any(each in VARIANTS[variant] for each in KEPT) and ledger.with_other_loss != RIVALS
    kept = kept or not VARIANTS[variant]
    assert bool(example_tests.rows) == kept
    compared = {table.name for table in tables}
    assert ("shapley" in compared) == (variant == "components")
    assert ("generated_texts" in compared) == ("text_samples" in compared) == (generated_texts in VARIANTS[variant])
