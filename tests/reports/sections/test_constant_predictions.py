"""Constant predictions are reported in the footer by arm, task and number of fine-tunings."""

from reports.formats import render
from reports.report import Report, build
from reports.sections.constant_predictions import TERM
from tests.factories.reports import Trial, document, primary, snapshot

TASK = "docs_pair"


def report(constant: dict[tuple[str, int, int], tuple[str, ...]]) -> Report:
    """Return two arms at three seeds, each fine-tuned twice, with flags by (arm, seed, fine-tuning seed)."""
    trials = []
    for arm in ("baseline", "dynamic"):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + seed / 100)
            for tuning in (1, 2):
                flags = dict.fromkeys(constant.get((arm, seed, tuning), ()), True)
                result = {
                    "task": TASK,
                    "seed": tuning,
                    "scores": {primary(TASK): 50.0 + seed},
                    "examples": 9,
                    **flags,
                }
                trial.record("fine_tune", f"{TASK}#{tuning}", result)
            trials.append(trial)
    arms = {"baseline": {}, "dynamic": {"convolution": {"kind": "dynamic"}}}
    return build(snapshot(trials, arms=arms, tasks=(TASK,), resolved=document((TASK,))), primary=primary)


def test_arm_task_and_count_are_named_in_every_form() -> None:
    built = report({("dynamic", 1, 1): ("constant", "constant mismatched"), ("dynamic", 3, 2): ("constant",)})
    text = dict(built.footer)[TERM]
    assert text == (
        "constant predictions: dynamic on docs_pair in 2 of 6 fine-tunings; dynamic on docs_pair mismatched "
        "in 1 of 6 fine-tunings; their correlation is set to 0"
    )
    for form in ("markdown", "html"):
        assert "in 2 of 6 fine-tunings" in render(built, form)


def test_nothing_is_said_where_no_model_has_collapsed() -> None:
    assert TERM not in dict(report({}).footer)
