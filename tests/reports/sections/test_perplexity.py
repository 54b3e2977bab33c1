"""The section on texts left out: units, the spread over seeds, and what a loss without end leaves out."""

import math

import pytest

from reports.formats import render
from reports.report import Report, build
from tests.factories.reports import Trial, document, snapshot

NATS = {("baseline", 1): 100.0, ("baseline", 2): 110.0, ("mixed", 1): 90.0, ("mixed", 2): 1e6}
SIZES = {"tokens": 50, "words": 40, "characters": 200, "unknown": 1, "length": 16}


def report() -> Report:
    trials = []
    for (arm, seed), nats in NATS.items():
        result = {"text": "notes", "layout": "plain", "nats": nats, **SIZES}
        trials.append(Trial(arm, seed).pretrained(5.0).record("perplexity", "perplexity notes", result))
    return build(snapshot(trials, {"baseline": {}, "mixed": {"heads": 2}}, resolved=document()))


def test_every_measure_has_its_unit_and_the_mean_over_the_seeds() -> None:
    (table,) = (table for table in report().tables if table.name == "perplexity")
    rows = {(row["arm"], row["measure"]): row for row in table.rows}
    per_token = rows["baseline", "perplexity_per_token"]
    assert per_token["mean"] == pytest.approx((math.exp(2) + math.exp(2.2)) / 2)
    assert per_token["unit"] == "e to the loss in nats per token of the vocabulary"
    assert rows["baseline", "perplexity_per_word"]["mean"] == pytest.approx((math.exp(2.5) + math.exp(2.75)) / 2)
    bits = rows["baseline", "bits_per_character"]
    assert bits["mean"] == pytest.approx(105 / math.log(2) / 200)
    assert (bits["n"], bits["unknown_share"]) == (2, 0.02)


def test_a_perplexity_without_end_never_becomes_a_value() -> None:
    (table,) = (table for table in report().tables if table.name == "perplexity")
    (row,) = (row for row in table.rows if (row["arm"], row["measure"]) == ("mixed", "perplexity_per_token"))
    assert (row["n"], row["mean"]) == (1, pytest.approx(math.exp(1.8)))


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_the_grid_says_what_the_units_are(kind: str) -> None:
    text = render(report(), kind)
    for part in ("bits per character", "perplexity per word", "2.00%"):
        assert part in text
