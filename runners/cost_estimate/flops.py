"""FLOPs of a stage in closed form, for the prediction of the remaining time."""

from configuration.latency import part_flops
from runners.stages.declarations import ExamplesStage, FineTuneStage, LatencyStage, PretrainStage
from runners.stages.stage import Stage
from search_space.architecture import Architecture
from search_space.candidate import BACKWARD_AND_FORWARD
from tasks.downstream import find_task


def stage_flops(stage: Stage) -> float:
    """Return a stage's FLOPs in closed form; 0 for stages without a model."""
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage):
        recipe, architecture = declaration.candidate.recipe, declaration.candidate.architecture
        forward = declaration.candidate.objective.forward_flops(
            architecture, declaration.generator, recipe.sequence_length
        )
        return float(
            BACKWARD_AND_FORWARD * forward * (declaration.to_step - declaration.from_step) * recipe.batch_sequences
        )
    if isinstance(declaration, FineTuneStage):
        examples = stage.inputs["examples"].declaration
        assert isinstance(examples, ExamplesStage)
        train, dev = examples_expected(declaration.task, examples.train_examples, examples.dev_examples)
        counts = (2 * train if examples.swap_pairs else train, dev)
        return fine_tuning_flops(declaration.architecture, examples.sequence_length, declaration.epochs, *counts)
    if isinstance(declaration, LatencyStage):
        sequence = sum(part_flops(arm, declaration.part, declaration.length) for arm in declaration.arms.values())
        return float(sequence * declaration.batch_sequences * (declaration.warm_up_rounds + declaration.rounds))
    return 0.0


def examples_expected(task: str, train_examples: int | None, dev_examples: int | None) -> tuple[int, int]:
    """Return the numbers of train and dev examples of a task, from its official counts."""
    downstream = find_task(task)
    return downstream.expected("train", train_examples), downstream.expected("dev", dev_examples)


def fine_tuning_flops(
    architecture: Architecture, length: int, epochs: int, train_examples: int, dev_examples: int
) -> float:
    """Return the FLOPs of fine-tuning plus one pass over the dev set."""
    passes = BACKWARD_AND_FORWARD * epochs * train_examples + dev_examples
    return float(architecture.forward_flops(length) * passes)
