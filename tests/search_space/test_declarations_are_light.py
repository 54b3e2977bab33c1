"""Declarations do not import torch, so that `plan` and errors are fast."""

import subprocess
import sys

import pytest

from tests.factories.paths import ROOT

HEAVY = ("torch", "ray", "mlflow", "optuna", "sklearn", "scipy", "matplotlib", "tokenizers", "transformers")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "search_space").rglob("*.py")
)


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Every module that a fresh interpreter has loaded after importing all of search_space."""
    program = f"import importlib, sys\nfor name in {MODULES}: importlib.import_module(name)\nprint(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def test_all_of_the_search_space_was_imported(loaded: set[str]) -> None:
    assert set(MODULES) <= loaded
    assert len(MODULES) > 15


@pytest.mark.parametrize("heavy", HEAVY)
def test_the_search_space_imports_nothing_heavy(heavy: str, loaded: set[str]) -> None:
    assert heavy not in loaded
