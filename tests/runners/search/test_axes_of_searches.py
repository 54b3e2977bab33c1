"""Axes of every kind are read back from a candidate, have an importance, and are what an ablation takes back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.search.encoding import draw, labels, point_of, uniformly
from runners.search.observations import Observation
from runners.search.optuna_sampler import importance, propose
from search_space.candidate import Candidate
from search_space.overrides import apply, difference
from steeplechase.configuration.designs import Search
from steeplechase.configuration.final_comparison import changes_by_axis, components_of
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import Track

BASELINE = Candidate.model_validate({"architecture": {"depth": 2, "width": 64, "feed_forward_width": 128}})
AXES: dict[str, dict[str, Any]] = {
    "integers": {"feed_forward_groups": (1, 2, 4), "bottleneck_ratio": (1, 2)},
    "floats": {"recipe.dropout": (0.0, 0.1, 0.25), "recipe.peak_learning_rate": (1e-4, 5e-4, 2e-3)},
    "whole numbers for floats, and none": {
        "recipe.dropout": (0, 0.1),
        "recipe.weight_decay": (0, 1),
        "key_width": (None, 16),
        "bottleneck_ratio": (1, "3/2", 2.0),
        "heads": (6,),
        "width": (48,),
    },
    "options": {
        "convolution": ({"kind": "none"}, {"kind": "dynamic"}, {"kind": "span_dynamic"}),
        "convolution.kernel_size": (3, 5, 9),
    },
    "sizes by layer": {"heads": (2, 4, (2, 4), (4, 2)), "feed_forward_width": (64, (64, 32), (32, 64))},
    "values by layer": {
        "convolution": ({"kind": "none"}, {"kind": "dynamic"}, ("none", "span_dynamic")),
        "convolution.kernel_size": (3, (3, 9), (9, 3)),
        "bottleneck_ratio": (1, (1, 2), ("4/3", 2)),
        "feed_forward_groups": (1, (1, 2)),
    },
    "programs": {"layers": ("(s f)*2", "s f f s f", "(s f)*3")},
}


def search(space: dict[str, Any], **more: Any) -> Search:
    return Search.model_validate({"kind": "search", "space": space, "max_candidates": 99, **more})


@pytest.mark.parametrize("space", AXES.values(), ids=[*AXES])
def test_a_candidate_has_the_values_that_it_was_drawn_with_on_every_axis(space: dict[str, Any]) -> None:
    design, choose = search(space), uniformly(np.random.default_rng(20261129))
    for _ in range(30):
        point = draw(design, BASELINE, choose)
        assert point is not None
        expected = {path: labels(design, path, BASELINE)[[*space[path]].index(point[path])] for path in point}
        candidate = apply(BASELINE, point)
        found = point_of(design, candidate)
        assert {path: found[path] for path in point} == expected
        again = apply(BASELINE, difference(BASELINE, candidate))  # as a ledger has it
        assert point_of(design, again) == found


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_baseline_beside_the_space_takes_no_axis_from_the_importance(sampler: str) -> None:
    space = {"feed_forward_width": ((64, 32), (32, 64), (64, 64)), "heads": (2, 4), "recipe.dropout": (0.2, 0.3, 0.4)}
    design = search(space, sampler=sampler, cohort=24)
    points = propose(search(space, sampler="random", cohort=24, max_seeds=9), BASELINE, (), 0, 15)
    losses = [5.0 - 10 * point["recipe.dropout"] for point in points]
    seen = [Observation(point, (loss,), True, (loss,)) for point, loss in zip(points, losses, strict=True)]
    shares = importance(design, BASELINE, (Observation({}, (9.0,), True, (9.0,), proposed=False), *seen))
    assert {*shares} == {*space}
    assert max(shares, key=lambda path: shares[path]) == "recipe.dropout"


def test_the_ablation_takes_back_each_axis_of_sizes_by_layer_alone() -> None:
    space = {"heads": (4, (2, 4)), "feed_forward_width": (128, (64, 32)), "recipe.dropout": (0.1, 0.2)}
    design = search(space)
    point = {"heads": [2, 4], "feed_forward_width": [64, 32], "recipe.dropout": 0.2}
    changes = difference(BASELINE, apply(BASELINE, point))
    assert "layers" in changes
    found = changes_by_axis(design, BASELINE, changes)
    assert found == point
    assert {*components_of(found)} == {"heads", "feed_forward_width", "dropout"}
    assert components_of({"recipe.dropout": 0.2, "heads": 2, "fine_tuning.dropout": 0}) == {
        "recipe.dropout": {"recipe.dropout": 0.2},
        "heads": {"heads": 2},
        "fine_tuning.dropout": {"fine_tuning.dropout": 0},
    }
    other = search({**space, "layers": ("s f", "(s f)*2")})
    program = difference(BASELINE, apply(BASELINE, {"layers": "s(heads=2) f r s f"}))
    assert changes_by_axis(other, BASELINE, program) == program  # heads of one layer alone are no value of the axis


def test_a_search_over_sizes_by_layer_ablates_its_winner_by_axis(tmp_path: Path) -> None:
    space = {"heads": [[1], [2]], "feed_forward_width": [[64], [96]]}
    design = {"kind": "search", "space": space, "max_candidates": 4, "cohort": 3, "sampler": "random"}
    design |= {"finalists": {"count": 1, "seeds": 2}, "ablate_winner": "leave_one_out"}
    pretraining = {"tokens": 2560, "seeds": [1]}
    final = Track(simulated.search(tmp_path, design=design, pretraining=pretraining), tmp_path).run().final
    assert final is not None
    ablated = [arm.name for arm in final.arms if arm.final_of not in ("baseline", *final.plan.finalists)]
    assert ablated == ["without_heads@final", "without_feed_forward_width@final"]
