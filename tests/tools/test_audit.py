"""The audit recomputes published reports without the project's code, and finds errors that are planted in them."""

import ast
import csv
import gzip
import shutil
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.factories.published_reports import write_tables
from tools.audit.__main__ import audit, main, same

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"
Rows = list[dict[str, str]]
WARM_UP, PARTS = "pre_ln_warmup-laptop", "table1-laptop"
PLANTED = [
    (WARM_UP, "results", ("pre_norm", "held_out_loss"), "n mean sd delta low high"),
    (WARM_UP, "effects", ("pre_norm", "held_out_loss"), "delta p p_adjusted"),
    (WARM_UP, "effects", ("pre_norm_no_warmup", "held_out_loss"), "low margin verdict"),
    (WARM_UP, "plateau", ("post_norm_no_warmup",), "seeds p_fisher p_adjusted"),
    (PARTS, "results", ("+wider", "docs_acceptability"), "mean low"),
    (PARTS, "plateau", ("+span",), "p_fisher p_adjusted"),
    (PARTS, "tokens_to_loss", ("+span",), "loss reached tokens_high tokens_ratio tokens_low p"),
    (PARTS, "effects", ("+wider", "docs_acceptability"), "p verdict"),
    (PARTS, "effects", ("+span", "held_out_loss"), "high p_adjusted verdict"),
    (PARTS, "claims", ("held_out_loss(+wider) < held_out_loss(+groups)",), "verdict p_contradicted"),
    (PARTS, "claims", ("held_out_loss(+span) < held_out_loss(+bottleneck)",), "p_supported high"),
]
"""Folder, table, row and the columns in which it gets another value."""
OTHERS = {
    "undecided": "helps",
    "helps": "undecided",
    "not testable at this size": "helps",
    "opposite here": "as stated here",
    "open here": "as stated here",
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("audit")
    for name in (WARM_UP, PARTS):
        shutil.copytree(PUBLISHED / name / "ledger", root / "published" / name / "ledger")
        write_tables(name, root / "built")
    return root


@pytest.fixture
def root(originals: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(originals, tmp_path / "copied"))


def differences(root: Path, folders: int | None = None) -> list[str]:
    """Return the differences of the first folders, of all by default."""
    found = islice(audit(root / "published", root / "built"), folders)
    return [f"{name}: {each}" for name, _, parts, _ in found for each in parts]


def rewrite(path: Path, change: Callable[[Rows], Rows]) -> None:
    with path.open(newline="", encoding="utf-8") as lines:
        changed = change([*csv.DictReader(lines)])
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, [*changed[0]])
        writer.writeheader()
        writer.writerows(changed)


def test_the_audit_imports_nothing_of_the_project() -> None:
    modules = set()
    for file in (ROOT / "tools" / "audit").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules |= {name.name for name in node.names} if isinstance(node, ast.Import) else set()
            modules |= {"." * node.level + (node.module or "")} if isinstance(node, ast.ImportFrom) else set()
    others = {name.partition(".")[0] for name in modules if not name.startswith("tools.audit")}
    assert others - sys.stdlib_module_names == {"numpy", "scipy", "statsmodels"}


def plant(rows: Rows, key: tuple[str, ...], columns: list[str], planted: list[str]) -> Rows:
    """Return the rows with another text, or another last digit, in columns of one row."""
    (row,) = [row for row in rows if {*key} <= {cell.removeprefix("'") for cell in row.values()}]
    for name in columns:
        row[name] = OTHERS.get(row[name]) or row[name][:-1] + str((int(row[name][-1]) + 1) % 10)
        planted.append(f"{name}: published {row[name]}")
    return rows


def test_all_of_many_planted_errors_are_found_and_nothing_else(root: Path) -> None:
    planted = list[str]()
    for folder, table, key, columns in PLANTED:
        change = partial(plant, key=key, columns=columns.split(), planted=planted)
        rewrite(root / "built" / folder / "tables" / f"{table}.csv", change)
    found = [": ".join(each.partition(", recomputed")[0].split(": ")[-2:]) for each in differences(root)]
    assert sorted(found) == sorted(planted)
    assert len(planted) > 30


def swapped(rows: Rows) -> Rows:
    """Return the rows with two arms in each other's place."""
    other = {"pre_norm": "pre_norm_no_warmup", "pre_norm_no_warmup": "pre_norm"}
    return [{**row, "arm": other.get(row["arm"], row["arm"])} for row in rows]


def without_one(rows: Rows) -> Rows:
    """Return the rows without those of one trial."""
    return [row for row in rows if "pre_norm/1" not in row.values()]


def replaced(column: str, before: str, after: str, rows: Rows) -> Rows:
    """Return the rows with another text in a column."""
    return [{**row, column: row[column].replace(before, after)} for row in rows]


@pytest.mark.parametrize(
    ("table", "change", "expected"),
    [
        ("results", lambda rows: rows[:-1], "pre_norm_no_warmup, held_out_loss: recomputed, not published"),
        (
            "results",
            lambda rows: [*rows, {**rows[-1], "arm": "new"}],
            "new, held_out_loss: published, not recomputed",
        ),
        ("effects", swapped, "delta: published 0.367317"),
        ("effects", lambda rows: [{n: row[n] for n in row if n != "p"} for row in rows], "p: no such column"),
    ],
)
def test_what_only_one_side_has_is_found(root: Path, table: str, change: Callable, expected: str) -> None:
    rewrite(root / "built" / WARM_UP / "tables" / f"{table}.csv", change)
    found = differences(root, 1)
    assert any(expected in each for each in found)
    assert all(each.startswith(f"{WARM_UP}: {table}.csv: ") for each in found)


@pytest.mark.parametrize(
    ("file", "change", "expected"),
    [
        ("records", partial(replaced, "result", '"held_out_loss":5.', '"held_out_loss":6.'), ": mean: "),
        ("records", without_one, "results.csv: pre_norm, held_out_loss: n: published 5, recomputed 4"),
        ("trials", swapped, "effects.csv: pre_norm_no_warmup, held_out_loss: p: "),
        ("arms", partial(replaced, "changes", "pre_norm", "none"), "shapley.csv: normalisation=none, held_out_loss"),
        ("facts", partial(replaced, "content", "0.05", "0.5"), "effects.csv: pre_norm, held_out_loss: margin: "),
    ],
)
def test_a_changed_exported_row_is_found(root: Path, file: str, change: Callable, expected: str) -> None:
    rewrite(root / "published" / WARM_UP / "ledger" / f"{file}.csv", change)
    found = differences(root, 1)
    assert any(expected in each for each in found)
    assert all(each.startswith(f"{WARM_UP}: ") for each in found)


def test_changed_values_of_examples_are_found(root: Path) -> None:
    file = root / "published" / PARTS / "ledger" / "examples" / "docs_answer.f1.npy.gz"
    with gzip.open(file) as content:
        values = np.load(content)
    values[0, :100] = 1.0 - values[0, :100]
    with gzip.open(file, "wb") as content:
        np.save(content, values)
    found = differences(root)
    assert found
    assert all("docs_answer" in each or "score" in each for each in found)
    assert not [each for each in found if ": delta: " in each or ": mean: " in each]


def test_tables_that_were_not_built_are_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "built" / PARTS)
    assert main(["--published", str(root / "published"), "--tables", str(root / "built")]) == 5
    assert capsys.readouterr().err.startswith(f"no tables of {PARTS} in ")


SHOWN = [("0.25", 0.2549), ("0.250000", 0.2500004), ("3", 3), ("", np.nan), ("helps", "helps")]
NOT_SHOWN = [("0.25", 0.2551), ("0.250000", 0.2500006), ("3", 4), ("", 0.0), ("0.5", np.nan), ("helps", 1.0)]


def test_numbers_are_equal_to_half_a_unit_of_the_last_digit() -> None:
    assert all(same(*cell) for cell in SHOWN)
    assert not any(same(*cell) for cell in NOT_SHOWN)
