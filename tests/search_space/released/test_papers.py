"""The file of published values: every number has a source, and what can be computed from it agrees with itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from search_space.candidate import Candidate
from search_space.cost import CONVENTIONS
from search_space.overrides import apply
from search_space.released.differences import departures, options_departing, recipe_text
from search_space.released.models import PRESETS, preset_of
from search_space.released.papers import PublishedRow, document, merged, published
from search_space.schedule import LinearSchedule

ELECTRA = CONVENTIONS["electra"]


def unsourced_numbers(place: Any, path: str, sourced: bool) -> Iterator[str]:
    if isinstance(place, Mapping):
        known = sourced or place.get("source") in published().sources
        for name, inner in place.items():
            yield from unsourced_numbers(inner, f"{path}.{name}", known)
    elif isinstance(place, list):
        for inner in place:
            yield from unsourced_numbers(inner, path, sourced)
    elif isinstance(place, int | float) and not isinstance(place, bool) and not sourced:
        yield path


def test_every_number_stands_under_a_source() -> None:
    assert list(unsourced_numbers(document(), "", False)) == []


def sources_named(place: Any) -> Iterator[str]:
    if isinstance(place, Mapping):
        for name, inner in place.items():
            yield from [inner] if name == "source" else inner.values() if name == "sources" else sources_named(inner)


def test_every_source_that_is_named_is_known_and_every_known_one_is_named() -> None:
    known = document()["sources"]
    assert set(sources_named({name: part for name, part in document().items() if name != "sources"})) == known.keys()


def test_an_entry_that_two_files_have_is_refused(tmp_path: Path) -> None:
    for name, entry in (("first", "bert"), ("second", "albert"), ("third", "bert")):
        (tmp_path / f"{name}.toml").write_text(f'[sources]\n{entry} = "{name}"\n')
    first, second, third = sorted(tmp_path.iterdir())
    assert merged([first, second]) == {"sources": {"bert": "first", "albert": "second"}}
    with pytest.raises(ValueError, match=r"third.toml: \[sources.bert\] is in another file too"):
        merged([first, second, third])


def test_a_row_has_no_columns_that_its_table_lacks() -> None:
    for name, table in published().tables.items():
        for row in table.rows.values():
            assert row.values.keys() <= table.columns.keys(), name
            assert row.spreads.keys() <= row.values.keys(), name
            assert not row.spreads or row.seeds, f"{name}: a standard deviation of how many?"


def test_a_source_of_its_own_is_that_of_a_value_that_is_there() -> None:
    for name, row in every_row():
        for field in row.sources:
            assert row.values.get(field, getattr(row, field, None)) is not None, (name, field)


def every_row() -> Iterator[tuple[str, PublishedRow]]:
    for table, found in published().tables.items():
        yield from ((f"{table}: {name}", row) for name, row in found.rows.items())


def test_a_mean_of_ours_is_the_mean_of_its_row() -> None:
    rows = [(name, row) for name, row in every_row() if row.source_of("score") == "own_mean"]
    assert len(rows) == 4
    tasks = [column for column in published().tables["table3"].columns if ":" in column]
    for name, row in rows:
        assert row.values["score"] == pytest.approx(fmean(row.values[task] for task in tasks), abs=0.0051), name


def test_table_3s_averages_are_the_means_of_its_tasks() -> None:
    rows = published().tables["table3"].rows
    assert len(rows) == 14
    for name, row in rows.items():
        tasks = [value for column, value in row.values.items() if ":" in column]
        assert len(tasks) == 8
        assert row.values["score"] == pytest.approx(fmean(tasks), abs=0.0501), name


@pytest.mark.parametrize("name", [name for name, model in published().models.items() if model.costs.train_flops])
def test_a_released_models_costs_are_those_of_its_declaration(name: str) -> None:
    preset, costs = PRESETS[name], published().models[name].costs
    candidate = preset.candidate
    assert candidate.architecture.parameters == costs.parameters
    found = candidate.train_flops(preset.tokens, candidate.architecture, ELECTRA)
    assert found == pytest.approx(costs.train_flops, rel=0.01)


@pytest.mark.parametrize("table", ["table1", "table2", "table7"])
def test_a_rows_costs_are_those_of_the_model_that_it_is(table: str) -> None:
    for name, row in published().tables[table].rows.items():
        preset = preset_of(row)
        assert preset is not None
        candidate = preset.candidate
        assert candidate.architecture.parameters == row.parameters, name
        if row.train_flops is not None:
            found = candidate.train_flops(preset.tokens, candidate.architecture, ELECTRA)
            assert found == pytest.approx(row.train_flops, rel=0.01), name


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.updates])
def test_a_released_model_departs_from_itself_in_nothing(name: str) -> None:
    preset = PRESETS[name]
    assert departures(preset.candidate, preset.tokens, preset) == ()


def test_an_option_that_is_not_the_papers_departs_in_every_architecture_with_it() -> None:
    for kind in ("none", "depthwise", "lightweight", "dynamic", "gated_dynamic", "span_dynamic"):
        architecture = apply(Candidate(), {"bottleneck_ratio": 2, "convolution": kind}).architecture
        found = options_departing(architecture)
        assert [each.kind for each in found] == ([kind] if kind == "dynamic" else []), kind


def test_departures_name_what_is_here_and_what_is_there() -> None:
    preset = PRESETS["convbert-small"]
    found = [str(each) for each in departures(Candidate(), preset.tokens // 2, preset)]
    assert "bottleneck ratio 1 (2)" in found
    assert "convolution none (span_dynamic)" in found
    assert "peak learning rate 0.0005 (0.0003)" in found
    assert "updates 500,000 (1,000,000)" in found
    assert not any(each.startswith("warm-up") for each in found)


def test_a_recipe_is_told_in_the_releases_own_numbers() -> None:
    preset = PRESETS["convbert-base"]
    told = recipe_text(preset.candidate, preset.tokens)
    for part in ("1,000,000 updates of 256 x 128", "0.0002 after 10,000 updates", "weight decay 0.01", "dropout 0.1",
                 "15% of the tokens", "generator 1/3", "1 and 50"):  # fmt: skip
        assert part in told
    recipe = preset.candidate.recipe.model_copy(update={"schedule": LinearSchedule(warmup_tokens=1)})
    short = recipe_text(preset.candidate.model_copy(update={"recipe": recipe}), 1)
    assert short.startswith("1 update of 256 x 128 tokens, peak learning rate 0.0002 after 1 update, ")


def test_a_recipe_says_what_a_gpu_computes_with_and_what_is_compiled() -> None:
    preset = PRESETS["convbert-base"]
    settings = {"device": "cuda", "precision": "bfloat16"}
    on_gpu, eager = (
        preset.candidate.model_copy(update={"recipe": preset.candidate.recipe.model_copy(update=settings | more)})
        for more in ({}, {"compile": False})
    )
    assert "precision bfloat16, compiled by torch.compile" in recipe_text(on_gpu, preset.tokens)
    assert "compiled" not in recipe_text(eager, preset.tokens) + recipe_text(preset.candidate, preset.tokens)
