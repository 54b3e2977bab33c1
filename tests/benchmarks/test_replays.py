"""The page of replays: ratios with intervals, the choice without a family, and every table in the text."""

import numpy as np

from benchmarks.replays import COMPARED, FAMILIES, VARIANTS, chosen_without, ratios

NAMES = (*COMPARED, *VARIANTS)


def test_ratios_are_of_mean_regrets_and_their_intervals_contain_them() -> None:
    generator = np.random.default_rng(0)
    of_random = generator.random((40, 3)) + 0.5
    found = ratios(of_random * 0.5 + 0.1 * generator.random((40, 3)), of_random)
    assert ((found[:, 1] < found[:, 0]) & (found[:, 0] < found[:, 2])).all()
    assert np.allclose(ratios(of_random / 2, of_random), 0.5)


def test_a_search_that_loses_on_a_family_is_not_chosen_for_another() -> None:
    means = {name: {search: np.full(3, 0.9) for search in NAMES} for name in FAMILIES}
    for name in FAMILIES:
        means[name]["asha"] = np.full(3, 0.3)
    means["algoperf"]["asha"] = np.full(3, 1.3)
    means["algoperf"]["tpe"] = means["own_tables"]["tpe"] = np.full(3, 0.8)
    assert chosen_without("algoperf", means, 1.1) == "asha"
    assert chosen_without("own_tables", means, 1.1) == "tpe"
    assert chosen_without("own_tables", means, 2.0) == "asha"
    assert chosen_without("own_tables", means, 0.1) is None
