"""`plan`, `describe`, `report` and every refusal answer without the heavy libraries."""

from pathlib import Path

from steeplechase.commands.main import COMMANDS
from tests.factories.command_calls import TABLE
from tests.factories.import_check import HEAVY, NUMERICAL, imported_after
from tests.factories.paths import EXPERIMENTS, PUBLISHED

MODULES = {command.place[0] for command in COMMANDS.values()}
SLOWEST = {"torch", "ray", "mlflow"}


def test_plan_and_the_list_of_commands_import_nothing_heavy_nothing_numerical_and_no_other_command() -> None:
    plans = [
        ("plan", EXPERIMENTS / f"{name}.yaml", "--scale", scale, "--json")
        for name, scale in (("table2", "smoke"), ("table2", "paper"), ("tuned", "smoke"), ("table9", "smoke"))
    ]
    (code, listing), *planned = imported_after(("--help",), *plans)
    assert code == 0
    assert listing & {*HEAVY, *NUMERICAL, *MODULES} == set()
    assert not {name for name in listing if name.startswith(("pydantic", "search_space.", "reports."))}
    assert len(planned) == len(plans)
    for code, imported in planned:
        assert code in (0, 4)  # 4 without the data
        assert imported & {*HEAVY, *NUMERICAL} == set()
        assert imported & MODULES == {"steeplechase.commands.plan"}


def test_commands_that_read_and_refusals_import_nothing_heavy(results: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    without_any = [("describe", TABLE), ("data", "--json"), ("plan", empty)]
    without_slowest = [
        ("run", empty),
        ("run", TABLE, "--scale", "demo", "--out", results),
        *(("report", folder) for folder in (results, PUBLISHED / "table9-laptop")),
    ]
    found = imported_after(*without_any, *without_slowest)
    assert [code for code, _ in found] == [0, 0, 3, 3, 6, 0, 0]
    assert not [imported & {*HEAVY} for _, imported in found[: len(without_any)] if imported & {*HEAVY}]
    assert not found[-1][1] & SLOWEST
