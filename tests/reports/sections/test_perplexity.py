"""Sections of measurements: perplexity of texts, numbers of own functions, pruned arms, and selected settings."""

import math
from dataclasses import replace
from typing import Any

import pytest

from reports.formats import render
from reports.report import Report, build
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.pruning import Pruning
from search_space.recipe import Recipe
from steeplechase.foundation.canonical import canonical
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import rows_of
from tests.factories.reports import TOKENS, Trial, document, primary, snapshot
from tests.factories.reports import arm as arm_row

NATS = {("baseline", 1): 100.0, ("baseline", 2): 110.0, ("mixed", 1): 90.0, ("mixed", 2): 1e6}
SIZES = {"tokens": 50, "words": 40, "characters": 200, "unknown": 1, "length": 16}


def report() -> Report:
    trials = []
    for (arm, seed), nats in NATS.items():
        result = {"text": "notes", "layout": "plain", "nats": nats, **SIZES}
        trials.append(Trial(arm, seed).pretrained(5.0).record("perplexity", "perplexity notes", result))
    return build(snapshot(trials, {"baseline": {}, "mixed": {"heads": 2}}, resolved=document()))


def test_every_measure_has_its_unit_and_the_mean_over_the_seeds() -> None:
    rows = {(row["arm"], row["measure"]): row for row in rows_of(report(), "perplexity")}
    per_token = rows["baseline", "perplexity_per_token"]
    assert per_token["mean"] == pytest.approx((math.exp(2) + math.exp(2.2)) / 2)
    assert per_token["unit"] == "e to the loss in nats per token of the vocabulary"
    assert rows["baseline", "perplexity_per_word"]["mean"] == pytest.approx((math.exp(2.5) + math.exp(2.75)) / 2)
    bits = rows["baseline", "bits_per_character"]
    assert bits["mean"] == pytest.approx(105 / math.log(2) / 200)
    assert (bits["n"], bits["unknown_share"]) == (2, 0.02)


def test_a_perplexity_without_end_never_becomes_a_value() -> None:
    (row,) = rows_of(report(), "perplexity", arm="mixed", measure="perplexity_per_token")
    assert (row["n"], row["mean"]) == (1, pytest.approx(math.exp(1.8)))


WHOLE = Architecture(depth=2, width=32, embedding_width=32, heads=2, feed_forward_width=64, vocabulary_size=100)
LEFT = [WHOLE.model_copy(update={"feed_forward_width": width}) for width in (16, 32)]
PRUNING = Pruning(parameters_share=0.9, scale_share=0.01, recovery_share=0.1)
RECIPE = Recipe(sequence_length=16, batch_sequences=4, pruning=PRUNING)
CANDIDATE = Candidate(architecture=WHOLE, objective=MaskedLanguageModel(), recipe=RECIPE)


def test_the_updates_of_scales_are_of_the_whole_model_and_those_of_the_recovery_of_what_remains() -> None:
    steps = RECIPE.steps(TOKENS)
    forward = [CANDIDATE.objective.forward_flops(each, None, 16) for each in (WHOLE, LEFT[0])]
    updates = PRUNING.scale_updates(steps), PRUNING.recovery_updates(steps)
    expected = MATMUL.training_passes * 4 * sum(count * cost for count, cost in zip(updates, forward, strict=True))
    assert CANDIDATE.pruning_flops(TOKENS, LEFT[0]) == expected
    without = CANDIDATE.model_copy(update={"recipe": RECIPE.model_copy(update={"pruning": None})})
    assert without.pruning_flops(TOKENS, WHOLE) == 0


@pytest.fixture
def tables() -> dict[str, list[dict[str, object]]]:
    """Return the rows of a report on a baseline and an arm that was pruned in both of its trials."""
    trials = [Trial("baseline", seed).pretrained(5.0 + seed / 10) for seed in (1, 2)]
    for seed, left in zip((1, 2), LEFT, strict=True):
        curve = [[TOKENS // 2, 5.5], [TOKENS, 5.0 + seed / 10]]
        result = {"tokens": TOKENS, "held_out_loss": 5.0 + seed / 10, "held_out_curve": curve, "train_curve": []}
        found = {**result, "architecture": canonical(left), "parameters": left.parameters}
        trials.append(Trial("pruned", seed).record("pretrain", f"pretrain@{TOKENS}", found))
    view = snapshot(trials, {"baseline": {}, "pruned": {}}, resolved=document(seeds=(1, 2)))
    baseline, pruned = view.arms
    whole = Candidate(architecture=WHOLE, objective=MaskedLanguageModel())
    view = replace(view, arms=(replace(baseline, candidate=whole), replace(pruned, candidate=CANDIDATE)))
    return {table.name: [dict(row) for row in table.rows] for table in build(view).tables}


def test_a_pruned_arm_has_the_costs_of_what_remains(tables: dict[str, list[dict[str, object]]]) -> None:
    by_seed = {row["seed"]: row for row in tables["pruned_architectures"]}
    before = CANDIDATE.train_flops(TOKENS, Architecture(depth=4))
    for seed, left in zip((1, 2), LEFT, strict=True):
        assert by_seed[seed]["parameters"] == left.parameters
        assert by_seed[seed]["forward_flops"] == left.forward_flops(16)
        assert by_seed[seed]["train_flops"] == before + CANDIDATE.pruning_flops(TOKENS, left)
    rows = {row["arm"]: row for row in tables["results"]}
    assert rows["pruned"]["parameters"] == sum(left.parameters for left in LEFT) / 2
    assert rows["pruned"]["train_flops"] == round(sum(int(str(row["train_flops"])) for row in by_seed.values()) / 2)
    assert rows["baseline"]["parameters"] == arm_row("baseline", 0, {}).parameters


TASK = "docs_pair"
SETTINGS = ("epochs=3", "epochs=10")


def searched(chosen_on: str, labels: tuple[str, ...] = SETTINGS) -> Snapshot:
    """Return two arms whose second setting is better on the selection half and worse on the reported half."""
    trials = []
    for arm, gain in (("baseline", 0.0), ("dynamic", 2.0)):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + seed / 100)
            for position, setting in enumerate(labels):
                choice = {"score": 60.0 + position + gain, "n": 499, "reported": 501, "chosen_on": chosen_on}
                result: dict[str, Any] = {"task": TASK, "seed": 1, "examples": 1000, "scores": {}}
                result["scores"] = {primary(TASK): 70.0 + gain - 10 * position + seed / 10}
                result["choice"] = {**choice, "searched": {"epochs": setting}}
                trial.record("fine_tune", f"{TASK}#1 {setting}", result)
            trials.append(trial)
    arms: dict[str, dict[str, Any]] = {"baseline": {}, "dynamic": {"convolution": {"kind": "dynamic"}}}
    view = snapshot(trials, arms=arms, tasks=(TASK,), tuning_seeds=(), resolved=document((TASK,)))
    every = (*view.labels, *(f"{TASK}#1 {setting}" for setting in SETTINGS))
    return Snapshot(view.experiment, view.scale, view.document, every, view.arms, view.histories, view.shared)


def means(report: Report) -> dict[str, Any]:
    return {row["arm"]: row["mean"] for row in rows_of(report, "results", metric=TASK)}


def test_only_selected_settings_are_averaged() -> None:
    built = build(searched("held_out_half"), primary=primary)
    assert {arm: round(mean, 6) for arm, mean in means(built).items()} == {"baseline": 60.2, "dynamic": 62.2}
    rows = rows_of(built, "settings")
    assert len(rows) == 6
    assert {(row["settings"], row["combinations"], row["choice_examples"], row["examples"]) for row in rows} == {
        ("epochs=10", 2, 499, 501)
    }


def test_a_search_that_has_not_ended_has_no_score() -> None:
    built = build(searched("held_out_half", SETTINGS[:1]), primary=primary)
    assert means(built) == {"baseline": None, "dynamic": None}


def test_selection_on_the_reported_dev_examples_is_marked_everywhere() -> None:
    marked, halved = build(searched("dev"), primary=primary), build(searched("held_out_half"), primary=primary)
    for form in ("markdown", "terminal", "html"):
        assert "docs_pair ‡" in render(marked, form).replace("\\", ""), form
        assert "‡" not in render(halved, form)
    assert any(note.startswith("‡: settings were selected on the reported dev examples") for note in marked.notes)
    assert "selected and reported on the same 499 dev examples" in dict(marked.footer)["Fine-tuning settings"]
    text = "the best of 2 (epochs), selected on 499 dev examples and reported on the other 501, split by a hash"
    assert text in dict(halved.footer)["Fine-tuning settings"]


def test_numbers_of_a_function_have_mean_and_spread_and_what_is_not_finite_is_left_out() -> None:
    found = {("baseline", 1): 2.0, ("baseline", 2): 4.0, ("mixed", 1): 3.0, ("mixed", 2): math.nan}
    trials = [
        Trial(arm, seed)
        .pretrained(5.0)
        .record("own_measurement", "own_measurement rank", {"name": "rank", "values": {"rank.text": value}})
        for (arm, seed), value in found.items()
    ]
    built = build(snapshot(trials, {"baseline": {}, "mixed": {"heads": 2}}, resolved=document()))
    found_rows = rows_of(built, "own_measurements")
    rows = [(row["arm"], row["measurement"], row["number"], row["n"], row["mean"]) for row in found_rows]
    assert rows == [("baseline", "rank", "rank.text", 2, 3.0), ("mixed", "rank", "rank.text", 1, 3.0)]
    assert "Measurements of your own" in render(built, "markdown")
