"""Initialises a model from its seed or an initial checkpoint and stores the weights, as pretraining does."""

from runners.stages.context import StageContext
from runners.stages.declarations import UntrainedStage
from runners.stages.pretrain import CHECKPOINT, load_initial_weights
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers import build_optimiser
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.objectives import build_model


def compute(stage: UntrainedStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the checkpoint of zero updates; return the number of parameters of the encoder."""
    recipe = stage.candidate.recipe
    model = build_model(stage.candidate, stage.generator, recipe.root_seed(stage.seed), context.inputs.get("tokens"))
    load_initial_weights(stage, model)
    save_checkpoint(context.folder / CHECKPOINT, model, build_optimiser(model, recipe), {"step": 0})
    return {"parameters": sum(parameter.numel() for parameter in model.encoder.parameters())}
