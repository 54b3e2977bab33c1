"""A part of a trial's pretraining: up to a rung or the budget, at longer sequences, or with pruning at its end."""

from typing import Any, ClassVar, Self

from runners.stages.stage import StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import InitialCheckpoint
from steeplechase.foundation.schema import Count, Seed

PRUNING_VERSION = 1
"""Of the code that prunes; part of the key of the stages that do."""


class PretrainStage(StageDeclaration):
    """Train a candidate from one token count to the next.

    Reads `tokens`, `evaluation_set` and, except from step 0, `previous`: the pretraining stage before it. With
    `recipe.pruning` it prunes that stage's model, and trains what remains.
    """

    stage: ClassVar[str] = "pretrain"
    hashed_instead: ClassVar[dict[str, str]] = {"init_checkpoint": "init_checkpoint_weights"}
    code_version: ClassVar[int] = 3
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    candidate: Candidate
    generator: Architecture | None
    seed: Seed
    from_step: int
    to_step: Count
    evaluation_steps: tuple[Count, ...]
    """Steps after which the held-out loss is measured; the last one is `to_step`."""
    horizon_tokens: Count | None
    """Tokens over which the schedule decays the learning rate; None if the schedule does not depend on them."""
    pruning_version: int | None = None
    """Incremented when a change of the code that prunes changes its result; None: the stage does not prune."""
    init_checkpoint: str | None = None
    """Folder of the initial checkpoint of the encoder; None: random initialisation from the seed."""
    init_checkpoint_weights: str | None = None
    """The sha256 of those weights."""

    @property
    def processes(self) -> int:
        """Processes that train the model together; pruning uses one."""
        return 1 if self.candidate.recipe.pruning is not None else self.candidate.recipe.processes

    @property
    def compiled(self) -> bool:
        """Whether torch.compile makes the kernels; pruning does not use it."""
        return self.candidate.recipe.pruning is None and self.candidate.compiles

    @classmethod
    def up_to(cls, experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int]) -> Self:
        """Return the declaration of the updates from `steps[0]` to `steps[1]`."""
        from_step, to_step = steps
        settings = experiment.pretraining
        budgets = [candidate.recipe.steps(tokens) for tokens in settings.budgets]
        total_steps, until = budgets[-1], next(budget for budget in budgets if budget >= to_step)
        evaluations = min(settings.evaluations, until)  # at most one after each update
        all_evaluations = {max(1, until * number // evaluations) for number in range(1, evaluations + 1)}
        evaluation_steps = {step for step in all_evaluations if from_step < step <= to_step} | {to_step}
        candidate = candidate.model_copy(update={"recipe": candidate.recipe.main_phase})
        return cls._of(
            experiment,
            candidate,
            seed,
            steps,
            evaluation_steps=tuple(sorted(evaluation_steps)),
            horizon_tokens=_horizon(candidate, total_steps, to_step),
        )

    @classmethod
    def of_pruning(cls, experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> Self:
        """Return the pruning after `from_step` updates of pretraining, and the training of what remains."""
        settings = candidate.recipe.pruning
        assert settings is not None
        steps = (from_step, from_step + settings.updates(from_step))
        candidate = candidate.model_copy(update={"objective": candidate.objective.settled})
        return cls._of(experiment, candidate, seed, steps, horizon_tokens=None, pruning_version=PRUNING_VERSION)

    @classmethod
    def of_long_sequences(cls, experiment: Experiment, candidate: Candidate, seed: int, from_step: int) -> Self:
        """Return the pretraining of the same candidate at the longer sequence length of its recipe."""
        to_step = from_step + candidate.recipe.long_sequence_updates(from_step)
        changes = {"recipe": candidate.recipe.of_long_sequences, "objective": candidate.objective.settled}
        candidate = candidate.model_copy(update=changes)
        horizon = _horizon(candidate, to_step, to_step)
        return cls._of(experiment, candidate, seed, (from_step, to_step), horizon_tokens=horizon)

    @classmethod
    def _of(
        cls, experiment: Experiment, candidate: Candidate, seed: int, steps: tuple[int, int], **further: Any
    ) -> Self:
        """Return the declaration with what all phases share; the held-out loss is measured after the last update."""
        generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
        from_step, to_step = steps
        fields = {"evaluation_steps": (to_step,), "from_step": from_step, "to_step": to_step, **further}
        return cls(candidate=candidate.pretrained, generator=generator, seed=seed, **fields)

    def begun_from(self, checkpoint: InitialCheckpoint | None) -> Self:
        """Return the first stage of a trial, with the initial checkpoint if there is one."""
        return self if checkpoint is None else self.model_copy(update=checkpoint_fields(checkpoint))


def checkpoint_fields(checkpoint: InitialCheckpoint) -> dict[str, str]:
    """Return the fields of a stage that begins with an initial checkpoint."""
    return {"init_checkpoint": str(checkpoint.folder), "init_checkpoint_weights": checkpoint.weights_hash}


def _horizon(candidate: Candidate, total_steps: int, to_step: int) -> int | None:
    """Return the tokens over which the schedule decays, of updates that end at `to_step` of `total_steps`."""
    recipe = candidate.recipe
    return recipe.schedule.horizon(recipe.tokens_after(total_steps), recipe.tokens_after(to_step))
