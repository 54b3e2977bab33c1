"""How a generator is trained: one file per option; its modules are in `tasks/objectives/generator_training`."""

from typing import Annotated

from search_space.objective.generator_training.adversarial import Adversarial
from search_space.objective.generator_training.joint import Joint
from search_space.objective.generator_training.option import GeneratorTrainingOption
from search_space.objective.generator_training.two_stage import TwoStage
from steeplechase.foundation.schema import OPTION

GeneratorTraining = Annotated[GeneratorTrainingOption, OPTION]

__all__ = ["Adversarial", "GeneratorTraining", "GeneratorTrainingOption", "Joint", "TwoStage"]
