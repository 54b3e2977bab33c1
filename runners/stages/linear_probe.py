"""A linear probe of word tags on each layer of a frozen encoder. Tenney et al. 2019, arXiv 1905.06316."""

from collections.abc import Mapping
from typing import ClassVar

from runners.stages.stage import Stage, TaskStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.foundation.devices import Device


class LinearProbeStage(TaskStage):
    """Fit a linear probe of word tags on each layer of a frozen encoder. Reads `pretrained` and `examples`."""

    stage: ClassVar[str] = "linear_probe"
    code_version: ClassVar[int] = 1
    architecture: Architecture
    device: Device = "cpu"

    @classmethod
    def of(
        cls, experiment: Experiment, candidate: Candidate, seed: int, run: FineTuningRun, sources: Mapping[str, Stage]
    ) -> Stage:
        """Return the probe of a candidate's encoder."""
        declaration = cls(architecture=candidate.architecture, task=run.task, device=candidate.recipe.device)
        return Stage(declaration, {name: sources[name] for name in ("pretrained", "examples")})
