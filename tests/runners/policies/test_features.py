"""Features of configurations: any structure, in [0, 1], by rank, independent of order."""

import numpy as np

from runners.policies.features import features_of


def test_columns_are_ranks_and_constants_are_left_out() -> None:
    found = features_of([{"rate": 1e-5, "same": 3}, {"rate": 1e-1, "same": 3}, {"rate": 1e-3, "same": 3}])
    assert found.tolist() == [[0.0], [1.0], [0.5]]


def test_strings_lists_and_missing_values_become_columns() -> None:
    layers = [{"kind": "attention", "width": 4}, {"kind": "convolution", "width": 2}]
    configs = [{"layers": layers}, {"layers": layers[:1]}, {"layers": layers[1:] * 3, "extra": True}, {}]
    found = features_of(configs)
    assert found.shape[0] == 4
    assert found.shape[1] >= 4
    assert found.min() == 0.0
    assert found.max() == 1.0
    assert len(np.unique(found, axis=0)) == 4


def test_the_order_of_candidates_changes_no_row() -> None:
    configs = [{"a": place % 3, "b": f"name{place % 2}"} for place in range(7)]
    assert np.array_equal(features_of(configs)[::-1], features_of(configs[::-1]))


def test_empty_configurations_have_no_features() -> None:
    assert features_of([{}, {}]).shape == (2, 0)


def test_a_list_of_parts_is_a_histogram_of_them() -> None:
    attention, convolution = {"kind": "attention", "width": 4}, {"kind": "convolution", "width": 2}
    configs = [{"layers": layers} for layers in ([attention], [attention] * 3, [convolution] * 4, [convolution])]
    found = {tuple(row) for row in features_of(configs).T.round(3).tolist()}
    lengths, widths = (0.0, 0.6, 1.0, 0.0), (0.333, 1.0, 0.667, 0.0)
    attentions, convolutions = (0.424, 0.707, 0.0, 0.0), (0.0, 0.0, 0.707, 0.424)
    assert found == {lengths, widths, attentions, convolutions}


def test_the_columns_of_an_axis_count_as_much_as_one_number() -> None:
    labels = features_of([{"label": f"label {place % 5}", "rate": place} for place in range(10)])
    squared = labels.max(axis=0) ** 2
    assert len(squared) == 6
    assert np.isclose(np.sort(squared), [0.2] * 5 + [1.0]).all()
