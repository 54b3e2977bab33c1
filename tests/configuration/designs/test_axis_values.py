"""A range of numbers is its values: in steps, or with equal ratios; anything else is refused with the rule."""

from typing import Any

import pytest

from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.configuration.designs import Factorial, OneFactor, Search
from steeplechase.configuration.designs import axes as axes_of_designs
from steeplechase.configuration.designs.axis_values import VALUES_AT_MOST, values_of
from steeplechase.configuration.yaml import load
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import Schema


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ({"low": 3, "high": 15, "step": 4}, (3, 7, 11, 15)),
        ({"low": 1, "high": 8, "step": 3}, (1, 4, 7)),
        ({"low": 0, "high": 0.4, "step": 0.1}, (0.0, 0.1, 0.2, 0.3, 0.4)),
        ({"low": 1, "high": 10, "log": True}, (1, 2, 3, 4, 5, 6, 8, 10)),
        ({"low": 1e-4, "high": 2e-4, "log": True}, (1e-4, 1.26e-4, 1.59e-4, 2e-4)),
    ],
)
def test_a_range_is_its_values(written: dict[str, Any], values: tuple[float, ...]) -> None:
    assert values_of(written) == values
    assert [type(value) for value in values_of(written)] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("{ low: 1, high: 4 }", "an axis is a list of values, or a range such as"),
        (
            "{ low: 1, high: 4, step: 1, log: true }",
            "step and log exclude each other; an axis is a list of values, or a range such as",
        ),
        ("{ low: 1, hihg: 4, step: 1 }", "hihg: not a key of a range"),
        ("{ low: 4, high: 1, step: 1 }", "the range from 4 to 1 is empty"),
        ("{ low: 1, high: 4, step: 0 }", "step is 0; a number above 0 is needed"),
        ("{ low: 0, high: 4, log: true }", "a logarithmic range has `log: true` and a low above 0"),
        ("{ low: 1, high: 4, log: false }", "a logarithmic range has `log: true` and a low above 0"),
        ("{ low: one, high: 4, step: 1 }", "low of a range is a number, not 'one'"),
        ("{ low: true, high: 4, step: 1 }", "low of a range is a number, not True"),
        ("{ low: 1, high: 1e9, step: 1 }", f"at most {VALUES_AT_MOST:,} are allowed"),
        ("5", "a list is needed"),
    ],
)
def test_another_form_is_refused_at_its_line(written: str, rule: str, tmp_path: Any) -> None:
    class Holder(Schema):
        design: OneFactor

    (tmp_path / "file.yaml").write_text(f"design:\n  kind: one_factor\n  vary:\n    heads: {written}\n")
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path / "file.yaml", Holder, None)
    (line,) = refused.value.lines
    assert line.startswith(f"{tmp_path / 'file.yaml'}:4: design.vary.heads: ")
    assert rule in line


@pytest.mark.parametrize("design", [OneFactor, Factorial, Search])
def test_a_design_with_a_range_is_the_design_with_its_list(design: type[Schema]) -> None:
    key = "space" if design is Search else "vary"
    ranged, listed = (
        design.model_validate({key: {"heads": heads}}) for heads in ({"low": 2, "high": 6, "step": 2}, (2, 4, 6))
    )
    assert ranged == listed
    assert design.model_validate_json(ranged.model_dump_json()) == listed


@pytest.mark.parametrize(("most", "tried"), [(3, 3), (20, 10)])
def test_an_impossible_value_is_tried_at_few_points(monkeypatch: pytest.MonkeyPatch, most: int, tried: int) -> None:
    calls = list[Any]()
    monkeypatch.setattr(axes_of_designs, "POINTS_TRIED", most)

    def counted(*given: Any) -> Candidate:
        calls.append(given)
        return apply(*given)

    monkeypatch.setattr(axes_of_designs, "apply", counted)
    value, beside = {"recipe.dropout": 2.0}, {"recipe.weight_decay": (0.01,) * 9}
    axes = {"recipe.dropout": (2.0,), **beside}
    found = [*axes_of_designs.impossible_with_every_option(axes, Candidate(), [{}], value, ("space",))]
    assert (len(calls), bool(found)) == (
        tried,
        tried < most,
    )  # what is not tried everywhere is reported by the points


def test_a_list_of_a_search_has_no_more_values_than_a_range_may() -> None:
    search = Search(space={"width": tuple(range(2, 2 * VALUES_AT_MOST + 4, 2))})
    (found,) = search.violations(Candidate())
    assert (found.path, found.message) == (("space", "width"), "1,025 values; at most 1,024 are allowed")
