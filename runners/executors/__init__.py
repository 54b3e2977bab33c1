"""Where trials run: one file per engine. Engines place work; they decide nothing and remember nothing."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from runners.scheduling.course import Course

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Runs a course of trials; leaving its context ends every process it started."""

    def __enter__(self) -> "Engine":
        """Start nothing that is not needed yet."""

    def __exit__(self, *_: object) -> None:
        """End every process; a stage that was running is carried on by the next run."""

    def run(self, course: Course, glance: Callable[[], None]) -> None:
        """Work until the course is over, calling `glance` a few times a second."""


def open_engine(name: str, store: Path, workers: int, address: str | None) -> Engine:
    """Return the engine of that name."""
    module = import_module(f"runners.executors.{name}")
    engine: Engine = module.open_engine(store, workers, address)
    return engine
