"""How a generator is trained, as torch modules: one file per option of `search_space.objective.generator_training`.

Each file defines `Training(candidate, generator)`, a GeneratorTraining.
"""

from importlib import import_module

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective.replaced_tokens import ReplacedTokens
from steeplechase.tasks.objectives.generator_training.training import GeneratorTraining


def build_training(candidate: Candidate, generator: Architecture) -> GeneratorTraining:
    """Return the training of the candidate's generator."""
    assert isinstance(candidate.objective, ReplacedTokens)
    kind = candidate.objective.generator_training.kind
    built: GeneratorTraining = import_module(f"{__name__}.{kind}").Training(candidate, generator)
    return built
