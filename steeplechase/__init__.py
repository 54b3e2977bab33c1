"""Steeplechase from Python: read a results folder, plan an experiment, run it.

    import steeplechase

    steeplechase.plan("experiments/table2.yaml", scale="smoke")
    results = steeplechase.run("experiments/table2.yaml", scale="smoke")
    results = steeplechase.load("results/table2-smoke")
    results.trials(), results.effects(), results.curves()   # pandas DataFrames
    results.figure("curves")                                # shown by a notebook

Errors of the input are `steeplechase.UserError`, with one line per mistake.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from steeplechase.own_packages import find_own_packages_first

if TYPE_CHECKING:
    from steeplechase.experiments import plan as plan
    from steeplechase.experiments import run as run
    from steeplechase.foundation.errors import UserError as UserError
    from steeplechase.results import Figure as Figure
    from steeplechase.results import Results as Results
    from steeplechase.results import load as load

MODULES = {
    "UserError": "steeplechase.foundation.errors",
    "plan": "steeplechase.experiments",
    "run": "steeplechase.experiments",
    "Figure": "steeplechase.results",
    "Results": "steeplechase.results",
    "load": "steeplechase.results",
}
"""What this package offers, by the module that has it: imported when it is first asked for."""

__all__ = ["Figure", "Results", "UserError", "load", "plan", "run"]

find_own_packages_first()


def __getattr__(name: str) -> object:
    """Return a part of the package."""
    if name not in MODULES:
        raise AttributeError(f"module 'steeplechase' has no attribute {name!r}")
    return getattr(import_module(MODULES[name]), name)


def __dir__() -> list[str]:
    """Return the names of the parts."""
    return [*MODULES]
