"""How much work a stage is, in operations, so that the time left can be told before it has been spent."""

from configuration.latency import part_flops
from runners.stages.declarations import ExamplesStage, FineTuneStage, LatencyStage, PretrainStage
from runners.stages.stage import Stage
from search_space.architecture import Architecture
from search_space.candidate import BACKWARD_AND_FORWARD
from tasks.downstream import find_task


def effort(stage: Stage) -> float:
    """Return a stage's operations in closed form; 0 for stages whose work is not arithmetic."""
    told = stage.declaration
    if isinstance(told, PretrainStage):
        recipe, architecture = told.candidate.recipe, told.candidate.architecture
        forward = told.candidate.objective.forward_flops(architecture, told.generator, recipe.sequence_length)
        return float(BACKWARD_AND_FORWARD * forward * (told.to_step - told.from_step) * recipe.batch_sequences)
    if isinstance(told, FineTuneStage):
        examples = stage.inputs["examples"].declaration
        assert isinstance(examples, ExamplesStage)
        train, dev = examples_expected(told.task, examples.train_examples, examples.dev_examples)
        counts = (2 * train if examples.swap_pairs else train, dev)
        return fine_tuning_effort(told.architecture, examples.sequence_length, told.epochs, *counts)
    if isinstance(told, LatencyStage):
        once = sum(part_flops(architecture, told.part, told.length) for architecture in told.arms.values())
        return float(once * told.batch_sequences * (told.warm_up_rounds + told.rounds))
    return 0.0


def examples_expected(task: str, train_examples: int | None, dev_examples: int | None) -> tuple[int, int]:
    """Return how many train and dev examples a task will have by its official counts."""
    asked = find_task(task)
    return asked.expected("train", train_examples), asked.expected("dev", dev_examples)


def fine_tuning_effort(
    architecture: Architecture, length: int, epochs: int, train_examples: int, dev_examples: int
) -> float:
    """Return the operations of learning a task and of being asked once."""
    passes = BACKWARD_AND_FORWARD * epochs * train_examples + dev_examples
    return float(architecture.forward_flops(length) * passes)
