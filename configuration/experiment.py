"""An experiment: what was declared, held to the rules that its values must keep together."""

from collections.abc import Iterator

from configuration.declared import DeclaredExperiment
from configuration.validation.experiment import violations_of
from foundation.errors import Violation


class Experiment(DeclaredExperiment):
    """One question at one scale."""

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from violations_of(self)
