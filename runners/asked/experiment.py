"""An experiment: what was declared, held to the rules that its values must keep together."""

from collections.abc import Iterator

from runners.asked.declared import DeclaredExperiment
from runners.asked.experiment_rules import violations_of
from search_space.violation import Violation


class Experiment(DeclaredExperiment):
    """One question at one scale."""

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from violations_of(self)
