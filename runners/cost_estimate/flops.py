"""FLOPs of a stage in closed form, for the prediction of the remaining time."""

from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from runners.stages.linear_probe import LinearProbeStage
from runners.stages.minimal_pairs import MinimalPairsStage
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import Stage, TaskStage
from search_space.architecture import Architecture
from search_space.candidate import BACKWARD_AND_FORWARD
from search_space.cost import MATMUL
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import update_flops
from steeplechase.configuration.fine_tuning import TaskExamples, TaskTraining
from steeplechase.tasks.labelled.task import DownstreamTask


def stage_flops(stage: Stage) -> float:
    """Return a stage's FLOPs in closed form; 0 for stages without a model."""
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage):
        updates = range(declaration.from_step, declaration.to_step)
        return float(declaration.candidate.flops_of_updates(updates, declaration.generator))
    if not isinstance(declaration, TaskStage):
        return declaration.own_flops
    examples = stage.inputs["examples"].declaration
    assert isinstance(examples, ExamplesStage)
    training = declaration if isinstance(declaration, FineTuneStage) else None
    return task_flops(declaration.downstream, encoder_of(declaration), examples, training)


def encoder_of(declaration: TaskStage) -> Architecture:
    """Return the architecture of the encoder that is evaluated."""
    if isinstance(declaration, MinimalPairsStage):
        return declaration.candidate.architecture
    assert isinstance(declaration, FineTuneStage | LinearProbeStage)
    return declaration.architecture


def expected_training(task: DownstreamTask, examples: TaskExamples | ExamplesStage) -> int:
    """Return the number of examples of an epoch, from a task's official counts."""
    train = task.expected("train", examples.train_examples)
    return 2 * train if examples.swap_pairs and task.unordered else train


def task_flops(
    task: DownstreamTask,
    architecture: Architecture,
    examples: TaskExamples | ExamplesStage,
    training: TaskTraining | None,
) -> float:
    """Return the FLOPs of evaluating an encoder on a task; `training` is None where the encoder is frozen.

    Fine-tuning, plus one pass over the dev set; of a linear probe one pass over both; of minimal pairs one pass for
    each token of both sentences. A multiple choice has as many passes per example as endings. What reads a frozen
    encoder is not counted.
    """
    train, dev = expected_training(task, examples), task.expected("dev", examples.dev_examples)
    length, epochs = examples.sequence_length, 0 if training is None else training.epochs
    new = None if training is None else training.generation.source_encoder
    if new is not None and task.form == "text_pair" and isinstance(architecture, EncoderDecoderArchitecture):
        source = new.architecture(architecture, new.vocabulary_size or architecture.vocabulary_size)
        first, second = (update_flops(architecture, source, length, first_stage=stage) for stage in (True, False))
        per_example = new.first_stage_share * first + (1 - new.first_stage_share) * second
        return epochs * train * per_example + dev * second / MATMUL.training_passes
    passes = {
        "fine_tune": (BACKWARD_AND_FORWARD if task.trains_encoder else 1) * epochs * train + dev,
        "linear_probe": train + dev,
        "minimal_pairs": 2 * dev * length,
    }[task.method]
    return float(architecture.forward_flops(length) * passes * task.sequences_per_example)
