"""`plan`, `describe`, `report`, `schema` and every refusal answer without the heavy libraries."""

from pathlib import Path

import pytest

from steeplechase.commands.main import COMMANDS
from tests.factories.command_calls import TABLE
from tests.factories.import_check import HEAVY, NUMERICAL, heavy_after, imported_after
from tests.factories.paths import EXPERIMENTS, PUBLISHED

MODULES = {command.place[0] for command in COMMANDS.values()}


@pytest.mark.parametrize(
    ("name", "scale"), [("table2", "smoke"), ("table2", "paper"), ("tuned", "smoke"), ("table9", "smoke")]
)
def test_plan_imports_nothing_heavy_nothing_numerical_and_no_other_command(name: str, scale: str) -> None:
    imported = imported_after(
        "plan", EXPERIMENTS / f"{name}.yaml", "--scale", scale, "--json", code=None
    )  # 4 without the data
    assert imported & {*HEAVY, *NUMERICAL} == set()
    assert imported & MODULES == {"steeplechase.commands.plan"}


def test_the_list_of_commands_imports_no_command() -> None:
    imported = imported_after("--help")
    assert imported & {*HEAVY, *NUMERICAL, *MODULES} == set()


@pytest.mark.parametrize("arguments", [("describe", TABLE), ("data", "--json")])
def test_a_command_that_reads_imports_nothing_heavy(arguments: tuple[str | Path, ...]) -> None:
    assert heavy_after(*arguments) == set()


def test_report_imports_nothing_heavy(results: Path) -> None:
    for folder in (results, PUBLISHED / "table9-laptop"):
        assert heavy_after("report", folder) & {"torch", "ray", "mlflow"} == set()


def test_a_refusal_imports_nothing_heavy(results: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    assert heavy_after("plan", tmp_path / "empty.yaml", code=3) == set()
    assert heavy_after("run", tmp_path / "empty.yaml", code=3) & {"torch", "ray", "mlflow"} == set()
    conflict = ("run", TABLE, "--scale", "demo", "--out", results)
    assert heavy_after(*conflict, code=6) & {"torch", "ray", "mlflow"} == set()
