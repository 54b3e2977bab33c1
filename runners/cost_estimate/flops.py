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
from steeplechase.configuration.fine_tuning import SourceEncoder
from steeplechase.tasks.labelled.task import DownstreamTask


def stage_flops(stage: Stage) -> float:
    """Return a stage's FLOPs in closed form; 0 for stages without a model."""
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage):
        updates = range(declaration.from_step, declaration.to_step)
        return float(declaration.candidate.flops_of_updates(updates, declaration.generator))
    if isinstance(declaration, TaskStage):
        examples = stage.inputs["examples"].declaration
        assert isinstance(examples, ExamplesStage)
        task = declaration.downstream
        train, dev = examples_expected(task, examples.train_examples, examples.dev_examples)
        counts = (2 * train if examples.swap_pairs else train, dev)
        if not isinstance(declaration, FineTuneStage):
            return task_flops(task, encoder_of(declaration), examples.sequence_length, 0, counts)
        encoder, new = declaration.architecture, declaration.generation.source_encoder
        return task_flops(task, encoder, examples.sequence_length, declaration.epochs, counts, new)
    return declaration.own_flops


def examples_expected(task: DownstreamTask, train_examples: int | None, dev_examples: int | None) -> tuple[int, int]:
    """Return the numbers of train and dev examples of a task, from its official counts."""
    return task.expected("train", train_examples), task.expected("dev", dev_examples)


def encoder_of(declaration: TaskStage) -> Architecture:
    """Return the architecture of the encoder that is evaluated."""
    if isinstance(declaration, MinimalPairsStage):
        return declaration.candidate.architecture
    assert isinstance(declaration, FineTuneStage | LinearProbeStage)
    return declaration.architecture


def task_flops(
    task: DownstreamTask,
    architecture: Architecture,
    length: int,
    epochs: int,
    counts: tuple[int, int],
    new: SourceEncoder | None = None,
) -> float:
    """Return the FLOPs of evaluating an encoder on a task with these numbers of train and dev examples.

    Fine-tuning, plus one pass over the dev set; of a linear probe one pass over both; of minimal pairs one pass for
    each token of both sentences. A multiple choice has as many passes per example as endings. What reads a frozen
    encoder is not counted. `new` is the new source encoder of a task whose targets are texts.
    """
    train, dev = counts
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
