"""Stages that begin with an initial checkpoint: a first pretraining, or an encoder that is not pretrained.

Free of torch; the weights stay on disk.
"""

from collections.abc import Mapping

from runners.stages.declarations import PretrainStage, UntrainedStage
from runners.stages.stage import Stage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import WEIGHTS, InitialCheckpoint, read_initial_checkpoint
from steeplechase.tasks.data_folder import resolved

SEED_OF_HEADS = 0
"""Of the heads of an encoder that is not pretrained: no fine-tuning reads them, so that all seeds share one stage."""


def initial_checkpoints(experiment: Experiment) -> dict[str, InitialCheckpoint]:
    """Return the initial checkpoints of all arms by folder, verified before the run creates a folder.

    Raises MachineError for a missing one, CorruptionError for a file that differs from the imported one.
    """
    candidates = (experiment.baseline, *(arm.candidate for arm in experiment.arms))
    folders = dict.fromkeys(filter(None, map(experiment.initial_checkpoint, candidates)))
    found = {folder: read_initial_checkpoint(resolved(folder)) for folder in folders}
    for checkpoint in found.values():
        checkpoint.verify(WEIGHTS)
    return found


def begun_from(declaration: PretrainStage, checkpoint: InitialCheckpoint | None) -> PretrainStage:
    """Return the declaration of a trial's first stage, with the initial checkpoint if there is one."""
    return declaration if checkpoint is None else declaration.model_copy(update=_fields(checkpoint))


def initial_encoder(experiment: Experiment, candidate: Candidate, checkpoint: InitialCheckpoint) -> Stage:
    """Return the stage of an encoder that is fine-tuned as it was imported."""
    generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
    main_phase = candidate.pretrained.model_copy(update={"recipe": candidate.recipe.main_phase})
    declaration = UntrainedStage(candidate=main_phase, generator=generator, seed=SEED_OF_HEADS)
    return Stage(declaration.model_copy(update=_fields(checkpoint)))


def _fields(checkpoint: InitialCheckpoint) -> Mapping[str, str]:
    return {"init_checkpoint": str(checkpoint.folder), "init_checkpoint_weights": checkpoint.weights_hash}
