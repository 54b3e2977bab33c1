"""The section has one row per metric and arm where values of single examples were kept, and no content elsewhere."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from analysis.paired import holm
from analysis.paired_examples import mcnemar
from ledger.example_tables import ExampleTable, Replicate
from reports.document import Report
from reports.formats import format_names, render
from reports.report import build
from reports.statistics.results import results_of
from reports.table import Table
from tests.factories.reports import primary, search, table2

EXAMPLES = 48
PAIR, EXACT, OVERLAP = "docs_pair:accuracy", "docs_acceptability:exact_match", "docs_acceptability:f1"
MODELS_ALONE = "Of these models on these examples, not of the architecture: a test of one checkpoint does not"


def kept(seeds: int | None = None) -> dict[str, ExampleTable]:
    """Return answers, overlaps and losses of every model, with values of another part and of a regression."""
    random = np.random.default_rng(5)
    of_arms = results_of(table2(), primary).values
    models = [(arm, seed) for arm, found in of_arms.items() for seed in [*found["held_out_loss"]][:seeds]]
    pretrained = tuple(Replicate(*model) for model in models)
    tuned = tuple(Replicate(*model, stream) for model in models for stream in (1, 2))
    losses = random.gamma(2, 2, EXAMPLES) + random.normal(0, 0.1, (len(pretrained), EXAMPLES))
    tables = [ExampleTable("held_out_loss", pretrained, losses.astype(np.float32))]
    for metric in (PAIR, EXACT, f"{PAIR} other"):
        tables.append(ExampleTable(metric, tuned, (random.random((len(tuned), EXAMPLES)) < 0.7).astype(np.float32)))
    for metric in (OVERLAP, "docs_pair:prediction"):
        tables.append(ExampleTable(metric, tuned, random.random((len(tuned), EXAMPLES)).astype(np.float32)))
    return {table.metric: table for table in tables}


def report(tables: Mapping[str, ExampleTable]) -> Report:
    return build(table2(), primary, tables)


def section_table(found: Report) -> Table:
    (table,) = (each for each in found.tables if each.name == "example_tests")
    return table


def test_without_values_of_single_examples_and_in_a_search_the_section_has_no_content() -> None:
    assert report({}) == build(table2(), primary)
    for found in (report({}), build(search(), primary, kept())):
        assert "example_tests" not in {each.name for each in (*found.tables, *found.grids)}


def test_the_arms_have_the_differences_of_the_table_of_results_beside_a_bootstrap() -> None:
    found = report(kept())
    (results,) = (each for each in found.tables if each.name == "results")
    names = {"held_out_loss": "held_out_loss", PAIR: "docs_pair", EXACT: EXACT}
    shown = {(row["arm"], row["metric"]): row for row in results.rows}
    rows = [row for row in section_table(found).rows if row["sampled_arms"]]
    assert rows
    for row in rows:
        same = shown[row["arm"], names[str(row["metric"])]]
        assert [row[name] for name in ("delta", "low", "high")] == [same[name] for name in ("delta", "low", "high")]
        assert row["bootstrap_low"] < row["bootstrap_high"]  # type: ignore[operator]


def test_a_task_is_tested_on_its_answers_and_only_on_its_dev_examples() -> None:
    rows = section_table(report(kept())).rows
    tested = {row["metric"]: row["test"] for row in rows}
    assert tested.pop("held_out_loss") == "signed ranks"
    assert tested == dict.fromkeys((EXACT, PAIR), "McNemar")
    without = {metric: table for metric, table in kept().items() if metric != EXACT}
    of_answer = [row for row in section_table(report(without)).rows if row["metric"] == OVERLAP]
    assert {row["test"] for row in of_answer} == {"signed ranks"}


def test_every_model_is_paired_with_the_baselines_of_the_same_seeds_and_corrected_over_all_pairs() -> None:
    tables = {PAIR: kept()[PAIR]}
    rows = section_table(report(tables)).rows
    values = dict(zip(tables[PAIR].replicates, tables[PAIR].values, strict=True))
    arms = {str(row["arm"]): row for row in rows}
    pairs = [(one, replace(one, arm="baseline")) for one in values if one.arm in arms]
    found = [mcnemar(values[one], values[other]) for one, other in pairs]
    corrected = holm([each.p for each in found])
    for arm, row in arms.items():
        own = [at for at, (one, _) in enumerate(pairs) if one.arm == arm]
        assert row["pairs"] == len(own)
        assert (row["better"], row["worse"]) == (
            sum(found[at].larger for at in own),
            sum(found[at].smaller for at in own),
        )
        assert row["p_models"] == pytest.approx(min(corrected[at] or 0.0 for at in own))


def test_a_lower_loss_is_better() -> None:
    table = kept()["held_out_loss"]
    lower = [0.5 * (replicate.arm == "dynamic") for replicate in table.replicates]
    values = np.tile(table.values[0], (len(lower), 1)) - np.array(lower)[:, None]
    rows = {row["arm"]: row for row in section_table(report({table.metric: replace(table, values=values)})).rows}
    dynamic, depthwise = rows["dynamic"], rows["depthwise"]
    assert (dynamic["better"], dynamic["worse"]) == (EXAMPLES * dynamic["pairs"], 0)  # type: ignore[operator]
    assert (dynamic["pairs_better"], dynamic["pairs_worse"]) == (dynamic["pairs"], 0)
    assert (depthwise["better"], depthwise["worse"], depthwise["p_models"]) == (0, 0, None)


def test_with_a_single_seed_only_the_models_are_compared() -> None:
    found = report(kept(seeds=1))
    for row in section_table(found).rows:
        assert row["p_models"] is not None
        assert (row["sampled_arms"], row["n"], row["delta"], row["bootstrap_low"]) == (None, 0, None, None)


@pytest.mark.parametrize("form", [form for form in format_names() if form != "csv"])  # csv is the main table alone
def test_every_format_says_what_each_reading_samples_and_that_models_are_no_architecture(form: str) -> None:
    text = " ".join(render(report(kept()), form).split())
    assert "dev examples" in text
    assert "seeds x" in text
    if form != "json":
        assert "not of the architecture" in text


def test_the_family_is_named_with_its_number_of_tests() -> None:
    found = report(kept())
    rows = section_table(found).rows
    (grid,) = (each for each in found.grids if each.name == "example_tests")
    models = next(note for note in grid.notes if '"these models"' in note)
    assert MODELS_ALONE in models
    assert f"{sum(int(str(row['pairs'])) for row in rows)} tests" in models
    assert grid.intervals == sum(row["low"] is not None for row in rows)
