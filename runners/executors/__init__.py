"""Where trials run: one file per engine. Engines place work; they decide nothing and remember nothing."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from runners.scheduling.course import Course

ENGINES = ("local", "ray")


class Executor(Protocol):
    """Runs a course of trials; leaving its context ends every process it started."""

    def __enter__(self) -> "Executor":
        """Start nothing that is not needed yet."""

    def __exit__(self, *_: object) -> None:
        """End every process; a stage that was running is carried on by the next run."""

    def run(self, course: Course, glance: Callable[[], None]) -> None:
        """Work until the course is over, calling `glance` a few times a second."""


def open_executor(name: str, store: Path, workers: int, address: str | None) -> Executor:
    """Return the engine of that name."""
    module = import_module(f"runners.executors.{name}")
    engine: Executor = module.open_executor(store, workers, address)
    return engine
