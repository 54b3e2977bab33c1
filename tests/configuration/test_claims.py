"""Claims and sequential seeds are validated before a run, and a claim's text is read as it is written."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.configuration.claims import (
    Ordering,
    Sign,
    UnclearClaim,
    claim_of,
    parse_claim,
    parse_orderings,
)
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.validation.arms import unknown_arms
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.simulated_training import SEARCH, experiment

DESIGN = """
baseline: { architecture: {}, objective: masked_language_model, recipe: { sequence_length: 128 } }
design: { kind: list, arms: { narrow: { width: 128 } } }
pretraining: { tokens: 1e6, seeds: [1, 2] }
fine_tuning: { tasks: [docs_pair] }
"""
UNTIL = {"until_decided": {"start": 2, "max": 4, "margin": {"held_out_loss": 0.1}}}


def violations_at(made: Experiment) -> list[tuple[str, str]]:
    return [(".".join(map(str, violation.path)), violation.message) for violation in violations_of(made)]


@pytest.mark.parametrize(
    ("parts", "place", "message"),
    [
        ({"claims": ["score(narow) > score(baseline)"]}, "claims.0", "Did you mean 'narrow'?"),
        ({"claims": ["loss(narrow) > loss(baseline)"]}, "claims.0", "'loss' is not measured here"),
        (
            {"claims": [{"metric": "score", "lower": "narow", "than": "baseline"}]},
            "claims.0",
            "Did you mean 'narrow'?",
        ),
        (
            {"pretraining": {"tokens": 2560, "seeds": UNTIL}, "design": SEARCH},
            "pretraining.seeds.until_decided",
            "search",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_location(
    tmp_path: Path, parts: dict[str, Any], place: str, message: str
) -> None:
    ((location, reported),) = violations_at(experiment(tmp_path, **parts))
    assert location == place
    assert message in reported


@pytest.mark.parametrize(
    ("metric", "tasks", "message"),
    [
        ("score", (), "fine_tuning.tasks is empty"),
        (
            "docs_pair",
            ("docs_answer",),
            "'docs_pair' is not measured here. Allowed: held_out_loss, score, docs_answer",
        ),
        ("scor", ("docs_answer",), "Did you mean 'score'?"),
        ("parameters", (), "the same on every seed"),
        ("train_flops", ("docs_answer",), "the same on every seed"),
        ("docs_answer:f2", ("docs_answer",), "no further metric 'f2'. Allowed: exact_match"),
    ],
)
def test_sequential_seeds_need_a_measured_metric_that_varies(
    tmp_path: Path, metric: str, tasks: tuple[str, ...], message: str
) -> None:
    rule = {"until_decided": {**UNTIL["until_decided"], "margin": {metric: 1.0}}}
    made = experiment(
        tmp_path, pretraining={"tokens": 2560, "seeds": rule}, fine_tuning={"tasks": tasks, "sequence_length": 16}
    )
    ((location, reported),) = violations_at(made)
    assert location.endswith(f"margin.{metric}")
    assert message in reported


@pytest.mark.parametrize("metric", ["held_out_loss", "score", "docs_answer", "docs_answer:exact_match"])
def test_any_metric_of_the_comparison_decides_on_seeds(tmp_path: Path, metric: str) -> None:
    rule = {"until_decided": {**UNTIL["until_decided"], "margin": {metric: 1.0}}}
    tasks = {"tasks": ("docs_answer", "docs_pair"), "sequence_length": 16}
    assert not violations_at(experiment(tmp_path, pretraining={"tokens": 2560, "seeds": rule}, fine_tuning=tasks))


CLAIMS = """
claims:
  - { metric: score, higher: narrow, than: baseline, by: 1e-1 }
  - { metric: held_out_loss, lower: narrow, than: baseline }
  - { metric: held_out_loss, level: [narrow, baseline], within: 0.02 }
  - docs_pair(narrow)>docs_pair(baseline)
"""
TEXTS = (
    "score(narrow) > score(baseline) by 0.1",
    "held_out_loss(narrow) < held_out_loss(baseline)",
    "held_out_loss(narrow) ~ held_out_loss(baseline) within 0.02",
    "docs_pair(narrow) > docs_pair(baseline)",
)


def test_a_claim_is_one_value_in_either_form_and_is_stored_as_its_short_text(tmp_path: Path) -> None:
    file = tmp_path / "claimed.yaml"
    file.write_text(f"experiment: claimed\nquestion: Which?\n{DESIGN}{CLAIMS}", encoding="utf-8")
    found = load_experiment(file, None)
    document = found.model_dump(mode="json")
    assert document["claims"] == [*TEXTS]
    assert (
        Experiment.model_validate_json(canonical_text(document)).claims
        == found.claims
        == tuple(map(parse_claim, TEXTS))
    )


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("narrow wins", "claims[0]: 'narrow wins' is not a claim; write "),
        ("score(a) ~ score(b)", "claims[0]: 'score(a) ~ score(b)': ~ needs `within` and a size"),
        ("{ metric: score, higher: a, than: a }", "claims[0]: 'score(a) > score(a)' compares a with itself"),
        ("{ metric: score, higher: a }", "claims[0].than: this key is missing; for example than: "),
        ("{ metric: score, level: [a, b] }", "claims[0].within: this key is missing; for example within: 0.5"),
        (
            "{ metric: score, lower: a, than: b, bye: 1}",
            "claims[0].bye: 'bye' is not a key here. Did you mean 'by'?",
        ),
        ("{ metric: score, higher: a, than: b, by: 0 }", "claims[0].by: 0 is out of range; more than 0"),
        ("{ metric: score, lower: a, than: b, within: 1 }", "claims[0].within: 'within' is not a key here"),
    ],
)
def test_an_invalid_claim_is_reported_at_its_key(tmp_path: Path, claim: str, line: str) -> None:
    file = tmp_path / "claimed.yaml"
    file.write_text(f"experiment: claimed\nquestion: Which?\n{DESIGN}claims: [{claim!r}]", encoding="utf-8")
    file.write_text(file.read_text(encoding="utf-8").replace("['{", "[{").replace("}']", "}]"), encoding="utf-8")
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(file, None)
    assert [f": {line}" in each for each in refusal.value.lines] == [True], refusal.value.lines


def test_claims_are_not_part_of_an_experiments_identity(tmp_path: Path) -> None:
    plain = experiment(tmp_path)
    claims = ["held_out_loss(narrow) < held_out_loss(dynamic) by 0.1"]
    margins = {"score": 1.0}
    expecting = experiment(tmp_path, claims=claims, comparison="paired", study="mixing", equivalence_margin=margins)
    assert not violations_at(expecting)
    assert canonical_text(expecting.identity()) == canonical_text(plain.identity())


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,8}", fullmatch=True)


SIZES = st.integers(1, 400).map(lambda value: value / 8)


@given(NAMES, NAMES, NAMES, st.sampled_from(list(Sign)), SIZES)
def test_a_claim_reads_as_it_is_written(metric: str, first: str, second: str, sign: Sign, size: float) -> None:
    if first == second:
        return
    word = "within" if sign is Sign.LEVEL else "by"
    text = f"{metric}({first}) {sign} {metric}({second}) {word} {size}"
    assert parse_claim(text) == claim_of(metric, first, sign, second, size)


ANY_NAME = st.text(st.sampled_from("ab1 >~<()'\"\\=,"), min_size=1, max_size=9).filter(
    lambda name: name == name.strip()
)


@given(ANY_NAME, ANY_NAME, st.sampled_from(list(Sign)))
def test_a_name_may_hold_anything_and_is_quoted_where_it_must_be(first: str, second: str, sign: Sign) -> None:
    if first != second:
        claim = claim_of("score", first, sign, second, 0.5)
        assert parse_claim(str(claim)) == claim
        ordering = Ordering(first, sign is Sign.LEVEL, second)
        assert parse_orderings(str(ordering)) == (ordering,)


def test_a_matched_arm_needs_no_quotes_in_a_claim() -> None:
    assert parse_claim("score(a (matched)) > score(b c)").first == "a (matched)"


@given(NAMES, st.lists(st.tuples(st.sampled_from(">~"), NAMES), min_size=1, max_size=5))
def test_a_chain_is_its_pairs_of_neighbours(first: str, rest: list[tuple[str, str]]) -> None:
    names = [first, *(name for _, name in rest)]
    if any(a == b for a, b in pairwise(names)):
        return
    orderings = parse_orderings(" ".join([first, *(f"{sign} {name}" for sign, name in rest)]))
    assert [orderings[0].first, *(ordering.second for ordering in orderings)] == names
    assert [ordering.level for ordering in orderings] == [sign == "~" for sign, _ in rest]


@pytest.mark.parametrize(
    "text", ["a", "a < b", "a >", "", "a > > b", 'a "b > c', '"a > b', "a > a", '"a"b > c', "a b > c"]
)
def test_an_invalid_ordering_is_reported(text: str) -> None:
    with pytest.raises(UnclearClaim):
        parse_orderings(text)


def test_an_ordering_claims_the_better_direction_of_every_metric() -> None:
    better, level = parse_orderings("a > b ~ c")
    assert str(better.on("held_out_loss", True, None)) == "held_out_loss(a) < held_out_loss(b)"
    assert str(better.on("score", False, 2.0)) == "score(a) > score(b)"
    assert str(level.on("score", False, 2.0)) == "score(b) ~ score(c) within 2"
    assert str(level.on("score", False, None)) == "score(b) ~ score(c)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > b", "is not a claim"),
        ("score(a) > loss(b)", "both sides must be one metric"),
        ("score(a) ~ score(b)", "needs `within`"),
        ("score(a) > score(b) within 1", "takes `by`"),
        ("score(a) > score(b) by 0", "more than 0"),
        ("score(a) > score(a)", "with itself"),
        ("score(a) > score(b) by -1", "is not a claim"),
    ],
)
def test_an_invalid_claim_is_reported_with_the_reason(text: str, expected: str) -> None:
    with pytest.raises(UnclearClaim, match=expected):
        parse_claim(text)


def test_unknown_names_are_reported_with_the_nearest() -> None:
    (wrong,) = unknown_arms(("dynamc", "wide"), ["dynamic", "wide"])
    assert wrong == "'dynamc' is not an arm. Allowed: dynamic, wide. Did you mean 'dynamic'?"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("convolution=span_dynamic,position=rotary", "position=rotary,convolution=span_dynamic"),
        ("architecture.position=rotary,convolutoin=span_dynamic", "position=rotary,convolution=span_dynamic"),
        ("normalisation.norm=rms_norm", "norm=rms_norm"),
        ("positions=rotary,convolution=none", None),
        ("position=rotary", None),
        ("kernel_size=7,convolution=span_dynamic(9, 3)", "convolution=span_dynamic(9, 3),kernel_size=7"),
        ("kernel_size=8,convolution=span_dynamic(9, 3)", None),
    ],
)
def test_an_arm_is_suggested_for_its_own_choices_alone(name: str, meant: str | None) -> None:
    rotary = ["position=rotary,convolution=depthwise", "position=rotary,convolution=span_dynamic"]
    (wrong,) = unknown_arms([name], [*rotary, "norm=rms_norm", "convolution=span_dynamic(9, 3),kernel_size=7"])
    assert wrong.partition(". Did you mean ")[2] == ("" if meant is None else f"{meant!r}?")
