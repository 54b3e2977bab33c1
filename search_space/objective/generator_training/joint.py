"""Joint training of generator and encoder on the sum of both losses. ELECTRA (Clark et al. 2020, 2003.10555)."""

from typing import Literal

from search_space.objective.generator_training.option import GeneratorTrainingOption


class Joint(GeneratorTrainingOption):
    """Every update trains the generator by masked language modelling and the encoder by its own loss."""

    kind: Literal["joint"] = "joint"
    """Chooses joint training."""
