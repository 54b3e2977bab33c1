"""The audit recomputes main effects, interactions and Shapley values of components as reports have them."""

from pathlib import Path
from typing import Any

import pytest

from configuration.designs import Coalitions, KeepOne, Ladder, LeaveOneOut, ListDesign
from configuration.designs.point import PointDesign
from reports.sections.factors import factors_table
from reports.sections.shapley import shapley_table
from reports.sections.single_change_effects import isolated_table
from reports.statistics.isolated_pairs import isolated_pairs
from reports.statistics.shapley import shapley_values_of
from tests.factories.altered_ledgers import first_look, kept_losses, paired
from tests.factories.component_ledgers import results_with
from tools.audit import exports
from tools.audit.compare import Outcome, compare_table, json_cells
from tools.audit.folders import TRAINING
from tools.audit.study import Study

PARTS: dict[str, dict[str, Any]] = {
    "bottleneck": {"bottleneck_ratio": 2},
    "convolution": {"convolution": "span_dynamic"},
    "groups": {"feed_forward_groups": 2},
}
STEPS = {"bottleneck": PARTS["bottleneck"], "dynamic": {"convolution": "dynamic"}, "span": PARTS["convolution"]}
FOUR = {**PARTS, "deep": {"depth": 3}}
FIVE = {**FOUR, "before": {"normalisation": "pre_norm"}}
WIDE = {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic", "kernel_size": 15}, "feed_forward_groups": 2}
DESIGNS: dict[str, tuple[PointDesign, ...]] = {
    "every set": (Coalitions(components=PARTS),),
    "leave one out and keep one, beside other arms": (
        LeaveOneOut(components=PARTS),
        KeepOne(components=PARTS),
        Ladder(components=STEPS),
        ListDesign(arms={"wide": WIDE, "deep": {"depth": 3}}),
    ),
    "random orders": (Coalitions(components=FOUR, orders=6, seed=3),),
    "random orders, five components": (Coalitions(components=FIVE, orders=6),),
}
KINDS = {"as published": (), "paired": (paired,), "first look": (first_look,), "losses kept": (kept_losses,)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", DESIGNS)
def test_reports_and_the_audit_agree_on_components(named: str, kind: str, tmp_path: Path) -> None:
    results = results_with(tmp_path, DESIGNS[named], KINDS[kind])
    values = shapley_values_of(results)
    assert values is not None
    pairs = isolated_pairs(results.arms, results.experiment.baseline)
    tables = [shapley_table(values), factors_table(results), isolated_table(results, pairs)]
    study, outcome = Study(exports.read_export(tmp_path)), Outcome()
    for table in tables:
        rule = TRAINING[table.name]
        compare_table(outcome, table.name, rule, [*json_cells(table.rows)], [*rule.rows(study, ())])
    assert outcome.differences == []
    assert outcome.compared > 50
    assert bool(tables[1].rows) == ("random" not in named)
    if "beside" in named:
        factors = {pair.path for pair in pairs}
        assert {*PARTS, "dynamic"} <= factors
        assert not {"bottleneck_ratio", "feed_forward_groups"} & factors
