"""Speed, share of the card's peak and memory of arms on GPUs, from the seconds of their stages."""

from dataclasses import replace

import pytest

from reports.report import Report, build
from search_space.cards import card_named
from search_space.recipe import Recipe
from tests.factories.read_reports import rows_of
from tests.factories.reports import TOKENS, Trial, document, snapshot

H200 = card_named("NVIDIA H200")
ON_GPU = Recipe(device="cuda", precision="bfloat16", processes=2)


def built(recipe: Recipe, card: str) -> Report:
    """Return a report on two arms, of which the second is trained by the recipe in two stages of a second each."""
    trials = [Trial("baseline", 1).pretrained(5.0), Trial("dynamic", 1)]
    for tokens, peak in ((TOKENS // 2, 2**31), (TOKENS, 2**30)):
        result = {"tokens": tokens, "held_out_loss": 5.0, "held_out_curve": [[tokens, 5.0]], "train_curve": []}
        trials[1].record("pretrain", f"pretrain@{tokens}", {**result, "peak_bytes": peak})
    marks = (TOKENS // 2, TOKENS)
    view = snapshot(trials, {"baseline": {}, "dynamic": {}}, rungs=marks, resolved=document(seeds=(1,)))
    baseline, dynamic = view.arms
    dynamic = replace(dynamic, candidate=dynamic.candidate.model_copy(update={"recipe": recipe}))
    return build(replace(view, arms=(baseline, dynamic), manifest={"gpu": {"card": card}, "python": "3"}))


def test_an_arm_on_gpus_has_their_speed_use_and_memory() -> None:
    assert H200 is not None
    pace = TOKENS / 2.0 / 2  # two seconds, two cards
    flops_a_second = 127e16 / 2.0 / 2
    assert rows_of(built(ON_GPU, "NVIDIA H200"), "gpu_use") == [
        {
            "arm": "dynamic",
            "card": "NVIDIA H200",
            "gpus": 2,
            "tokens_per_second": pace,
            "model_flops_utilisation": pytest.approx(flops_a_second / H200.bfloat16),
            "peak_bytes": 2**31,
        }
    ]


@pytest.mark.parametrize(("recipe", "card", "shares"), [(ON_GPU, "another", [None]), (Recipe(), "NVIDIA H200", [])])
def test_an_unlisted_card_has_no_share_and_a_processor_no_row(recipe: Recipe, card: str, shares: list[None]) -> None:
    assert [row["model_flops_utilisation"] for row in rows_of(built(recipe, card), "gpu_use")] == shares
