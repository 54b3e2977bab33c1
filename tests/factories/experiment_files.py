"""The repository's experiments as their files say, each read once by a process of tests; they are frozen."""

from collections.abc import Iterator
from functools import cache

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import with_checkpoints
from steeplechase.configuration.plugin_folders import BASE
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.yaml import read_file
from steeplechase.foundation.errors import Violation
from tests.factories.paths import EXPERIMENTS


@cache
def experiments_of(file: str) -> dict[str | None, Experiment]:
    """Return the experiments of a file without plugins by scale, relative to the folder of experiments.

    Every scale is validated when one is asked for, so that all come from one reading.
    """
    found: list[Experiment] = []

    def kept(experiment: Experiment) -> Iterator[Violation]:
        found.append(experiment)
        yield from violations_of(experiment)

    read = with_checkpoints(read_file(EXPERIMENTS / file))
    read.declaration(Experiment, None, {BASE: (EXPERIMENTS / file).parent}, kept)
    return dict(zip(read.documents, found, strict=True))


def experiment_of(file: str, scale: str | None) -> Experiment:
    """Return an experiment, its file relative to the folder of experiments."""
    return experiments_of(file)[scale]
