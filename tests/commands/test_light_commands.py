"""`plan`, `describe`, `report`, `schema` and every refusal answer without the heavy libraries."""

from pathlib import Path

import pytest

from commands.main import COMMANDS
from tests.factories.command_calls import TABLE
from tests.factories.import_check import HEAVY, NUMERICAL, heavy_after, imported_after

MODULES = {command.place[0] for command in COMMANDS.values()}


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_plan_imports_nothing_heavy_nothing_numerical_and_no_other_command(scale: str) -> None:
    imported = imported_after("plan", TABLE, "--scale", scale, "--json")
    assert imported & {*HEAVY, *NUMERICAL} == set()
    assert imported & MODULES == {"commands.plan"}


def test_the_list_of_commands_imports_no_command() -> None:
    imported = imported_after("--help")
    assert imported & {*HEAVY, *NUMERICAL, *MODULES} == set()


@pytest.mark.parametrize("what", ["convbert-base", TABLE])
def test_describe_imports_nothing_heavy(what: str | Path) -> None:
    assert heavy_after("describe", what) == set()


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_report_imports_nothing_heavy(results: Path, form: str) -> None:
    assert heavy_after("report", results, "--format", form) & {"torch", "ray", "mlflow"} == set()


@pytest.mark.parametrize("arguments", [("data",), ("data", "--json")])
def test_the_list_of_data_sets_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert heavy_after(*arguments) == set()


def test_a_refusal_imports_nothing_heavy(results: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    assert heavy_after("plan", tmp_path / "empty.yaml", code=3) == set()
    assert heavy_after("run", tmp_path / "empty.yaml", code=3) & {"torch", "ray", "mlflow"} == set()
    conflict = ("run", TABLE, "--scale", "demo", "--out", results)
    assert heavy_after(*conflict, code=6) & {"torch", "ray", "mlflow"} == set()
