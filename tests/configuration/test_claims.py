"""What an experiment expects of its results is checked before anything runs, each mistake where it stands."""

from pathlib import Path
from typing import Any

import pytest

from configuration.experiment import Experiment
from foundation.schema import canonical_text
from tests.factories.simulated_training import SEARCH, experiment

UNTIL = {"until_decided": {"start": 2, "max": 4, "margin": {"held_out_loss": 0.1}}}


def told(made: Experiment) -> list[tuple[str, str]]:
    return [(".".join(map(str, violation.path)), violation.message) for violation in made.violations()]


@pytest.mark.parametrize(
    ("parts", "place", "message"),
    [
        ({"claims": ["score(narow) > score(baseline)"]}, "claims.0", "Did you mean 'narrow'?"),
        ({"claims": ["loss(narrow) > loss(baseline)"]}, "claims.0", "'loss' is not measured here"),
        ({"claims": ["docs_pair(narrow) > docs_pair(baseline)", "narrow wins"]}, "claims.1", "is not a claim"),
        ({"forecast": {"tokens": 2560}}, "forecast.tokens", "no further than pretraining.tokens"),
        (
            {"pretraining": {"tokens": 2560, "seeds": UNTIL}, "design": SEARCH},
            "pretraining.seeds.until_decided",
            "search",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(tmp_path: Path, parts: dict[str, Any], place: str, message: str) -> None:
    ((where, what),) = told(experiment(tmp_path, **parts))
    assert where == place
    assert message in what


@pytest.mark.parametrize(
    ("metric", "tasks", "message"),
    [
        ("score", (), "No task is fine-tuned on"),
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
def test_seeds_are_decided_on_by_what_varies_and_is_measured(
    tmp_path: Path, metric: str, tasks: tuple[str, ...], message: str
) -> None:
    rule = {"until_decided": {**UNTIL["until_decided"], "margin": {metric: 1.0}}}
    made = experiment(
        tmp_path, pretraining={"tokens": 2560, "seeds": rule}, fine_tuning={"tasks": tasks, "sequence_length": 16}
    )
    ((where, what),) = told(made)
    assert where.endswith(f"margin.{metric}")
    assert message in what


@pytest.mark.parametrize("metric", ["held_out_loss", "score", "docs_answer", "docs_answer:exact_match"])
def test_any_metric_of_the_comparison_decides_on_seeds(tmp_path: Path, metric: str) -> None:
    rule = {"until_decided": {**UNTIL["until_decided"], "margin": {metric: 1.0}}}
    tasks = {"tasks": ("docs_answer", "docs_pair"), "sequence_length": 16}
    assert not told(experiment(tmp_path, pretraining={"tokens": 2560, "seeds": rule}, fine_tuning=tasks))


def test_expectations_are_no_part_of_what_a_result_belongs_to(tmp_path: Path) -> None:
    plain = experiment(tmp_path)
    claims = ["held_out_loss(narrow) < held_out_loss(dynamic) by 0.1"]
    expecting = experiment(tmp_path, claims=claims, equivalence_margin={"score": 1.0}, forecast={"tokens": 5120})
    assert not told(expecting)
    assert canonical_text(expecting.identity()) == canonical_text(plain.identity())
