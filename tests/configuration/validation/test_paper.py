"""What an experiment says of the paper's rows and of its held-out questions is held against what there is."""

from pathlib import Path
from typing import Any

import pytest

from runners.dag import shared_stages
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml import scales
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import ConfigurationError

TEXT = """
experiment: drawn
question: What?
baseline:
  architecture: {{ depth: 2, width: 64, embedding_width: 64, heads: 4, vocabulary_size: 4000 }}
  objective: {{ kind: masked_language_model }}
paper: {{ source: s, statement: t, {paper} }}
design: {{ kind: list, arms: {{ narrow: {{ bottleneck_ratio: 2 }}, other: {{ {other} }} }} }}
pretraining: {{ tokens: 1000000, seeds: [1], {pretraining} }}
"""


def refused(folder: Path, **parts: str) -> list[str]:
    file = folder / "drawn.yaml"
    defaults = {"paper": "orderings: []", "other": "heads: 2", "pretraining": "evaluations: 8"}
    file.write_text(TEXT.format(**{**defaults, **parts}))
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(file, None)
    return [line.partition("drawn.yaml:")[2] for line in refusal.value.lines]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"paper": "table: tabel3"}, "paper.table: 'tabel3' is not a published table"),
        ({"paper": "metrics: [held_out_los]"}, "paper.metrics[0]: 'held_out_los' is not measured here. Allowed: "),
        ({"paper": "rows: { narrow: GPT }"}, "paper.rows: rows need paper.table"),
        ({"paper": "table: table3, rows: { narow: GPT }"}, "'narow' is not an arm"),
        ({"paper": "table: table3, rows: { narrow: GTP }"}, "'GTP' is not a row of table3"),
        (
            {"other": "objective: replaced_token_detection"},
            "other trains with another objective than the baseline (masked_language_model)",
        ),
        (
            {"pretraining": "evaluation_reference: { objective: { kind: replaced_token_detection } }"},
            "replaced_token_detection differs from the arms",
        ),
        (
            {"pretraining": "evaluation_reference: { objective: { kind: masked_language_model } }"},
            "30522 differs from the arms' vocabulary size, 4000",
        ),
    ],
)
def test_unknown_names_are_reported_at_their_lines(parts: dict[str, str], expected: str, tmp_path: Path) -> None:
    lines = refused(tmp_path, **parts)
    assert any(expected in line for line in lines), lines


def test_a_headline_score_needs_a_task(tmp_path: Path) -> None:
    (line,) = refused(
        tmp_path, paper="orderings: []", pretraining="evaluations: 8 }\nheadline_metrics: [score]\nmeasure: {"
    )
    assert "headline_metrics: there is no score, because fine_tuning.tasks is empty" in line


def loaded(folder: Path, **parts: str) -> Experiment:
    file = folder / "drawn.yaml"
    defaults = {"paper": "orderings: []", "other": "heads: 2", "pretraining": "evaluations: 8"}
    file.write_text(TEXT.format(**{**defaults, **parts}))
    return load_experiment(file, None)


def test_the_papers_rows_change_no_identity(tmp_path: Path) -> None:
    plain = loaded(tmp_path).identity()
    assert loaded(tmp_path, paper="table: table3, rows: { narrow: GPT }").identity() == plain


def test_a_reference_decides_the_questions_and_no_reference_leaves_no_trace(tmp_path: Path) -> None:
    plain = loaded(tmp_path)
    assert "evaluation_reference" not in canonical(plain.pretraining)
    itself: dict[str, Any] = plain.baseline.model_dump(mode="json")
    named = plain.model_copy(
        update={"pretraining": plain.pretraining.model_copy(update={"evaluation_reference": plain.baseline})}
    )
    assert shared_stages(named).evaluation_set.key == shared_stages(plain).evaluation_set.key
    longer = plain.baseline.model_copy(
        update={"recipe": plain.baseline.recipe.model_copy(update={"sequence_length": 64})}
    )
    other = plain.model_copy(
        update={"pretraining": plain.pretraining.model_copy(update={"evaluation_reference": longer})}
    )
    assert shared_stages(other).evaluation_set.key != shared_stages(plain).evaluation_set.key
    assert itself["recipe"]["sequence_length"] == 128


CHAIN = {
    "first": "{ small: { pretraining: { tokens: 2000000 } }, large: { pretraining: { tokens: 9000000 } } }",
    "second": "{ like: first.yaml, small: { pretraining: { seeds: [1, 2] } } }",
    "third": "{ like: second.yaml, large: { pretraining: { seeds: [7] } } }",
}


def test_scales_reach_through_files_each_laid_over_the_one_before(tmp_path: Path) -> None:
    head = TEXT.format(paper="orderings: []", other="heads: 2", pretraining="evaluations: 8")
    for name, text in CHAIN.items():
        (tmp_path / f"{name}.yaml").write_text(f"{head}scales: {text}\n")
    last = tmp_path / "third.yaml"
    assert scales(last) == ("small", "large")
    small, large = (load_experiment(last, scale).pretraining for scale in ("small", "large"))
    assert (small.tokens, small.seeds) == (2_000_000, (1, 2))
    assert (large.tokens, large.seeds) == (9_000_000, (7,))


def test_an_axis_with_one_value_is_in_a_name_only_if_it_would_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "drawn.yaml"
    text = TEXT.format(paper="orderings: []", other="heads: 2", pretraining="evaluations: 8")
    lines = [line for line in text.splitlines() if not line.startswith("design")]
    vary = "{ heads: [2, 4], convolution: [span_dynamic] }"
    file.write_text("\n".join([*lines, f"design: {{ kind: factorial, vary: {vary} }}"]))
    names = [arm.name for arm in load_experiment(file, None).arms]
    assert names == ["baseline", "heads=2", "convolution=span_dynamic"]
