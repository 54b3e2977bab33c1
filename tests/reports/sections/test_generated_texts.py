"""Scores of generated texts: spread over seeds and over texts, signatures, and samples that cannot become markup."""

import math
from dataclasses import replace

import pytest

from reports.formats import render
from reports.report import Report, build
from reports.sections.reference import reference_grid, reference_table
from tests.factories.read_reports import rows_of
from tests.factories.reports import Trial, document, primary, shared, snapshot

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1"
HOSTILE = "<b>Ein</b> Hund & eine |Katze|"


def result(bleu: float) -> dict[str, object]:
    return {
        "task": "multi30k_de_en",
        "seed": 1,
        "examples": 200,
        "scores": {"bleu": bleu},
        "intervals": {"bleu": [bleu - 1.5, bleu + 1.5]},
        "signatures": {"bleu": SIGNATURE},
        "target_losses": {"dev": 2.0, "test": 9.0},
        "samples": [{"source": HOSTILE, "reference": "a dog and a cat", "generated": "a dog"}],
    }


def report() -> Report:
    scores = {("baseline", 1): 20.0, ("baseline", 2): 22.0, ("wide", 1): 25.0, ("wide", 2): 24.0}
    trials = [
        Trial(arm, seed).pretrained(5.0).record("fine_tune", "multi30k_de_en#1", result(bleu))
        for (arm, seed), bleu in scores.items()
    ]
    return build(snapshot(trials, {"baseline": {}, "wide": {"heads": 2}}, resolved=document(["multi30k_de_en"])))


def test_every_model_has_its_score_interval_and_signature() -> None:
    tables = {table.name: table for table in report().tables}
    rows = {(row["arm"], row["seed"]): row for row in tables["generated_texts"].rows if row["metric"] == "bleu"}
    assert len(rows) == 4
    one = rows["wide", 1]
    assert [one[name] for name in ("value", "low", "high", "texts", "signature")] == [
        25.0,
        23.5,
        26.5,
        200,
        SIGNATURE,
    ]


def test_the_perplexity_of_the_targets_is_that_of_their_loss_on_dev() -> None:
    rows = rows_of(report(), "generated_texts", metric="perplexity of targets")
    assert [row["value"] for row in rows] == pytest.approx([math.exp(2.0)] * 4)
    assert "7.39 ± 0.00 (2)" in render(report(), "markdown")


def test_the_page_tells_both_spreads_and_the_first_texts() -> None:
    text = render(report(), "markdown")
    assert "21.00 ± 1.41 (2)" in text
    assert "±1.50" in text
    assert [row["arm"] for row in rows_of(report(), "text_samples")] == ["baseline", "wide"]


def test_of_searched_settings_the_selected_ones_alone_count_and_the_first_text_is_of_the_first_seed() -> None:
    """The order in which stages ended has no part in it."""
    found = {("1", 2): 20.0, ("3", 2): 26.0, ("1", 1): 10.0, ("3", 1): 24.0}
    trial = Trial("baseline", 1).pretrained(5.0)
    for (epochs, seed), bleu in found.items():
        choice = {"score": bleu, "n": 9, "reported": 9, "chosen_on": "dev", "searched": {"epochs": epochs}}
        text = {"source": "Hund", "reference": "dog", "generated": f"seed {seed}"}
        scored = {**result(bleu), "seed": seed, "choice": choice, "samples": [text]}
        trial.record("fine_tune", f"multi30k_de_en#{seed} epochs={epochs}", scored)
    view = snapshot([trial], {"baseline": {}}, resolved=document(["multi30k_de_en"], seeds=(1,)))
    labels = [f"multi30k_de_en#{seed} epochs={epochs}" for seed in (1, 2) for epochs in (1, 3)]
    built = build(replace(view, labels=(*view.labels, *labels)))
    (measured,) = rows_of(built, "results", metric="multi30k_de_en")
    assert [row["value"] for row in rows_of(built, "generated_texts", metric="bleu")] == [24.0, 26.0]
    assert measured["mean"] == 25.0
    assert "25.00 ± ? (1)" in render(built, "markdown")
    assert [row["generated"] for row in rows_of(built, "text_samples")] == ["seed 1"]


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_texts_are_escaped(kind: str) -> None:
    assert "<b>Ein</b>" not in render(report(), kind)


def test_what_the_tokenizer_leaves_of_the_targets_is_beside_the_references() -> None:
    view = snapshot([Trial("baseline", 1).pretrained(5.0)], resolved=document(["multi30k_de_en"]))
    made = {"task": "multi30k_de_en", "chance": None, "bag_of_words": {"bleu": 0.5}, "round_trip": {"bleu": 87.3}}
    parts = {"train": {"examples": 9}, "dev": {"examples": 9}}
    (grid,) = reference_grid(reference_table(replace(view, shared=(shared("examples", "", made | parts),)), primary))
    assert [column.title for column in grid.columns][2:5] == [
        "chance",
        "bag of words",
        "targets through the tokenizer",
    ]
    assert [cell.text for cell in grid.rows[-1]][2:5] == ["–", "0.5", "87.3"]
