"""Builds the held-out evaluation set of an experiment: made by an objective, the same for every arm.

An objective may need a model for it: replaced token detection (ELECTRA, arXiv 2003.10555) trains the baseline's
generator on the training split first, and samples from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from runners.stages.context import StageContext
from runners.stages.stage import Stage, StageDeclaration
from search_space.candidate import Candidate
from search_space.objective import Objective
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.progress import place
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runners.training.loop import Step
    from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

EVALUATION_SEED = 20081901  # arbitrary; the evaluation set is the same for every pretraining seed


class EvaluationSetStage(StageDeclaration):
    """Build the held-out evaluation set; if its objective needs a generator, train that first. Reads `tokens`."""

    stage: ClassVar[str] = "evaluation_set"
    code_version: ClassVar[int] = 2
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    reference: Candidate
    """Its objective corrupts the inputs, its recipe is the baseline's; its architecture is the reference generator's,
    if there is one."""
    objective: str
    """The kind of objective that makes the set and whose loss is measured on it."""
    sequences: Count
    generator_tokens: int
    """Training tokens of the reference generator; 0 without a generator."""

    @property
    def trained(self) -> Candidate | None:
        """The reference candidate, where a generator is trained; else no model is run."""
        return self.reference if self.generator_tokens else None

    @classmethod
    def of(cls, experiment: Experiment, tokens: Stage, other: Objective | None = None) -> Stage:
        """Return the stage of the evaluation set that all arms share, made as the baseline's objective declares.

        With an `other` objective, that of its arms, made as it declares for the baseline. An objective with a
        reference generator has it as the reference candidate, in place of the baseline.
        """
        baseline = experiment.pretraining.evaluation_reference or experiment.baseline
        objective = other or baseline.objective
        generator = objective.reference_generator(baseline.architecture)
        changes = {
            "architecture": generator or baseline.architecture,
            "objective": objective.reference,
            "recipe": baseline.recipe.main_phase,
        }
        declaration = cls(
            reference=baseline.pretrained.model_copy(update=changes),
            objective=objective.evaluation,
            sequences=experiment.pretraining.held_out_sequences,
            generator_tokens=0 if generator is None else experiment.pretraining.reference_generator_tokens,
        )
        return Stage(declaration, {"tokens": tokens})

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the evaluation set; return its number of sequences and of predicted positions. Raises DataError."""
        from steeplechase.tasks.objectives import model_class
        from steeplechase.tasks.objectives.pretraining_model import EvaluationSource
        from steeplechase.tasks.packing import open_split

        folder, recipe = context.inputs["tokens"], self.reference.recipe
        tokenizer = load_tokenizer(folder)
        held_out = open_split(folder, "validation", tokenizer, recipe.sequence_length, self.reference.objective)
        require_sequences("pretraining.held_out_sequences", self.sequences, held_out.sequences)
        context.progress(f"building the held-out set: {self.sequences:,} sequences", 0.0)
        sequences = held_out.evenly_spaced(self.sequences, EVALUATION_SEED)
        generator = _reference_generator(self, context, tokenizer) if self.generator_tokens else None
        source = EvaluationSource(self.reference, sequences, tokenizer, generator, context.progress)
        evaluation_set = model_class(self.objective).evaluation_set(source)
        if not evaluation_set.targets.size:
            raise DataError("a sequence of the validation split has no token to predict")
        evaluation_set.save(context.folder)
        return {"sequences": len(evaluation_set.inputs), "questions": int(evaluation_set.targets.size)}


def _reference_generator(
    stage: EvaluationSetStage, context: StageContext, tokenizer: Tokenizer
) -> PretrainingModel[Any]:
    """Return the reference candidate's model, trained on the training split."""
    from runners.training.loop import TrainingData, train
    from runners.training.optimisers import build_optimiser
    from steeplechase.tasks.objectives import build_model
    from steeplechase.tasks.packing import open_split

    recipe = stage.reference.recipe
    folder, objective = context.inputs["tokens"], stage.reference.objective
    batches = open_split(folder, "train", tokenizer, recipe.sequence_length, objective)
    training_data = TrainingData(stage.reference, batches, tokenizer, EVALUATION_SEED, stage.generator_tokens)
    model = build_model(stage.reference, None, EVALUATION_SEED, folder)
    steps = recipe.steps(stage.generator_tokens)

    def after(step: Step) -> None:
        phase = place("training the reference generator", "update", step.number, steps)
        context.progress(phase, step.number / steps, step.loss, step.tokens_per_second)

    train(model, training_data, build_optimiser(model, recipe), range(steps), after, reads_model=lambda number: False)
    return model


def held_out_sequences(key: str, count: int, length: int, context: StageContext) -> NDArray[np.int64]:
    """Return evenly spaced validation sequences [count length]; raises DataError if there are fewer, with the key."""
    import numpy as np

    from search_space.packing.stream import Batches
    from steeplechase.tasks.tokens import read_tokens

    source = context.inputs["tokens"]
    batches = Batches(read_tokens(source / "validation.npy"), load_tokenizer(source), length)
    require_sequences(key, count, batches.sequences)
    return batches.sequence(np.linspace(0, batches.sequences - 1, count).astype(np.int64))


def require_sequences(setting: str, asked: int, found: int) -> None:
    """Raise DataError, with what to write instead, where fewer sequences were found than the setting asks for."""
    if found < asked:
        fix = f"write at most {found}, or give more text" if found else "give more text"
        raise DataError(f"{setting} is {asked}, and the validation split has {found} sequences: {fix}")
