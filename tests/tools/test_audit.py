"""`make audit` recomputes published reports without the project's code, and finds what the rows do not give."""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.audit.__main__ import audit, lines_of, main
from tools.audit.compare import Outcome, same
from tools.audit.exports import read_csv
from tools.audit.paper_claims import check_claims

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"
ALLOWED = {"numpy", "scipy", "tools.audit"}
SMALL = "search-laptop"


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""


def test_the_audit_imports_nothing_of_the_project() -> None:
    modules = {name for file in (ROOT / "tools" / "audit").glob("*.py") for name in imported(file)}
    further = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in further if not any(f"{name}.".startswith(f"{each}.") for each in ALLOWED)} == set()


@pytest.mark.slow
def test_every_published_value_follows_from_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("  differs: ")] == []
    assert code == 0
    with_rows = {folder.parents[1].name for folder in PUBLISHED.glob("*/ledger/export.json")}
    compared = {line.partition(": ")[0] for line in lines if line.endswith(" values compared, 0 differ")}
    assert compared == {*with_rows, "claims.md", "README.md", "all"}
    assert int(lines[-1].split()[1]) > 80_000


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PUBLISHED / SMALL, tmp_path / SMALL))


def found_in(folder: Path) -> Outcome:
    found = audit(folder)[folder.name]
    assert isinstance(found, Outcome)
    return found


@pytest.mark.parametrize(
    ("file", "published", "planted", "column"),
    [
        ("tables/candidates.csv", "-0.559563", "-0.559663", "delta"),
        ("tables/audit.csv", "0.853881", "0.853882", "correlation"),
        ("tables/results.csv", "3.190915", "3.190914", "mean"),
        ("tables/effects.csv", "undecided", "helps", "verdict"),
        ("figures/curves.csv", "5.036533", "5.036543", "loss"),
        ("report.md", "0.85 \\[0.51, 0.97\\]", "0.86 \\[0.51, 0.97\\]", "value"),
    ],
)
def test_one_changed_digit_is_found(copied: Path, file: str, published: str, planted: str, column: str) -> None:
    text = (copied / file).read_text(encoding="utf-8")
    assert published in text
    (copied / file).write_text(text.replace(published, planted, 1), encoding="utf-8")
    differences = found_in(copied).differences
    assert {(each.file, each.column) for each in differences} == {(file, column)}
    assert planted.replace("\\", "").removesuffix("]") in differences[0].published


def test_a_row_that_is_missing_is_found(copied: Path) -> None:
    file = copied / "tables" / "results.csv"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")
    (found,) = found_in(copied).differences
    assert (found.column, found.published, found.recomputed) == ("row", "none", "there")


def test_a_changed_exported_row_is_found(copied: Path) -> None:
    file = copied / "ledger" / "records.csv"
    text = file.read_text(encoding="utf-8")
    loss = next(
        row["result"] for row in read_csv(file) if row["trial"] == "baseline/1" and row["stage"] == "pretrain"
    )
    shown = loss.partition('"held_out_loss":')[2].partition(",")[0]
    file.write_text(text.replace(shown, f"{float(shown) + 0.01}"), encoding="utf-8")
    assert found_in(copied).differences


def test_a_table_without_a_rule_is_a_difference(copied: Path) -> None:
    (copied / "tables" / "novel.csv").write_text("arm,delta\nbaseline,0.5\n", encoding="utf-8")
    (found,) = found_in(copied).differences
    assert (found.file, found.recomputed) == ("tables/novel.csv", "no rule for this table")


def test_what_is_not_recomputed_is_listed_with_its_reason() -> None:
    lines = lines_of(SMALL, found_in(PUBLISHED / SMALL))
    assert any("tables/importance.csv" in line and "fANOVA" in line for line in lines)
    assert lines_of("former", "no rows") == ["former: not recomputed: no rows"]


@pytest.mark.parametrize(
    ("printed", "value", "equal"),
    [
        ("0.25", 0.2549, True),
        ("0.25", 0.2551, False),
        ("0.250000", 0.2500004, True),
        ("0.250000", 0.2500006, False),
        ("3", 3, True),
        ("3", 4, False),
        ("", None, True),
        ("", 0.0, False),
        ("0.5", None, False),
        ("True", True, True),
        ("helps", "hurts", False),
        ("helps", 1.0, False),
    ],
)
def test_numbers_are_equal_to_half_a_unit_of_the_last_digit(printed: str, value: object, equal: bool) -> None:
    assert same(printed, value) is equal


@pytest.mark.parametrize(
    ("published", "planted"),
    [("+0.196 ", "+0.197 "), ("| 0.147 |", "| 0.148 |"), ("| supported; r", "| undecided; r")],
)
def test_a_changed_claim_on_searches_is_found(tmp_path: Path, published: str, planted: str) -> None:
    for name in ("claims.toml", "claims.md"):
        shutil.copy(PUBLISHED / name, tmp_path / name)
    page = tmp_path / "claims.md"
    text = page.read_text(encoding="utf-8")
    assert published in text
    assert not differences_of_searches(tmp_path)
    page.write_text(text.replace(published, planted), encoding="utf-8")
    assert differences_of_searches(tmp_path)


def differences_of_searches(folder: Path) -> list[str]:
    outcome = Outcome()
    check_claims(outcome, folder, {})
    return [each.row for each in outcome.differences if each.row.startswith("O10")]
