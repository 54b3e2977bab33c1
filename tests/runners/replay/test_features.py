"""Features of configurations: any structure, labels and ranks, independent of order."""

import numpy as np

from runners.replay.features import features_of


def test_columns_of_numbers_are_ranks_and_constants_are_left_out() -> None:
    found = features_of([{"rate": 1e-5, "same": 3}, {"rate": 1e-1, "same": 3}, {"rate": 1e-3, "same": 3}])
    assert (found.labels, found.values.tolist()) == ((None,), [[0.0], [1.0], [0.5]])


def test_labels_keep_their_names_and_a_list_of_parts_is_a_histogram_of_them() -> None:
    attention, convolution = {"kind": "attention"}, {"kind": "convolution"}
    layers = ([attention], [attention] * 3, [convolution, attention], [convolution])
    found = features_of(
        [{"layers": each, "act": act} for each, act in zip(layers, ("a", "b", "a", "b"), strict=True)]
    )
    assert found.labels == (("a", "b"), None, None, None)
    assert found.values[:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert found.values.min() == 0.0
    assert found.values.max() == 1.0


def test_the_order_of_candidates_changes_no_row() -> None:
    configs = [{"a": place % 3, "b": f"name{place % 2}"} for place in range(7)]
    assert np.array_equal(features_of(configs).values[::-1], features_of(configs[::-1]).values)


def test_two_labels_are_as_far_apart_as_the_ends_of_a_number() -> None:
    found = features_of([{"label": "a", "rate": 1}, {"label": "c", "rate": 1}, {"label": "a", "rate": 9}])
    assert found.distances((0.0, 0.0), np.arange(3)).tolist() == [0.0, 1.0, 1.0]
