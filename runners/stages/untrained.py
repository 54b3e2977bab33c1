"""Initialises a model from its seed or an initial checkpoint and stores the weights, as pretraining does."""

from collections.abc import Mapping
from typing import ClassVar

from runners.stages.context import StageContext
from runners.stages.pretrain import checkpoint_fields
from runners.stages.stage import Stage, StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import InitialCheckpoint
from steeplechase.foundation.schema import JsonValue, Seed
from steeplechase.ledger.paths import CHECKPOINT

NOTHING: Mapping[str, Stage] = {}


class UntrainedStage(StageDeclaration):
    """Initialise a model and store its weights: the untrained reference, or an initial checkpoint as it is.

    Reads nothing; an encoder with supersense embeddings reads `tokens`.
    """

    stage: ClassVar[str] = "untrained"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    hashed_instead: ClassVar[dict[str, str]] = {"init_checkpoint": "init_checkpoint_weights"}
    candidate: Candidate
    generator: Architecture | None
    seed: Seed
    init_checkpoint: str | None = None
    """Folder of the initial checkpoint of the encoder; None: random initialisation from the seed."""
    init_checkpoint_weights: str | None = None
    """The sha256 of those weights."""

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        candidate: Candidate,
        seed: int,
        checkpoint: InitialCheckpoint | None = None,
        sources: Mapping[str, Stage] = NOTHING,
    ) -> Stage:
        """Return the stage of a candidate at its initial weights: random ones, or those of a checkpoint."""
        generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
        begun = {} if checkpoint is None else checkpoint_fields(checkpoint)
        return Stage(cls(candidate=candidate.in_main_phase, generator=generator, seed=seed, **begun), sources)

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the checkpoint of zero updates; return the number of parameters of the encoder."""
        from runners.training.checkpoint import save_checkpoint
        from runners.training.optimisers import build_optimiser
        from runners.training.pretrained import load_initial_weights
        from steeplechase.tasks.objectives import build_model

        recipe = self.candidate.recipe
        model = build_model(self.candidate, self.generator, recipe.root_seed(self.seed), context.inputs.get("tokens"))
        load_initial_weights(model.encoder, self.init_checkpoint, self.init_checkpoint_weights)
        save_checkpoint(context.folder / CHECKPOINT, model, build_optimiser(model, recipe), {"step": 0})
        return {"parameters": sum(parameter.numel() for parameter in model.encoder.parameters())}
