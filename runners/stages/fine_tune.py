"""The fine-tuning of a pretrained encoder on one task with one seed."""

from collections.abc import Mapping
from typing import ClassVar

from runners.stages.examples import ExamplesStage
from runners.stages.stage import Stage, TaskStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.output_layer import OutputLayer
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import TaskTraining
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.foundation.devices import Device, Precision
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import Seed
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks import StageTask, task_named


class FineTuneStage(TaskStage, TaskTraining):
    """Fine-tune a pretrained encoder on one task with one seed. Reads `pretrained` and `examples`.

    With embeddings of rare words it reads `word_embeddings` too.

    Head, order of examples and dropout are drawn from both seeds: fine-tuning seeds are nested in pretraining seeds,
    and at one pair of seeds the draws of all arms are the same.
    """

    stage: ClassVar[str] = "fine_tune"
    code_version: ClassVar[int] = 3
    hashed_at_default: ClassVar[tuple[str, ...]] = (
        *("epochs", "batch_examples", "peak_learning_rate", "warmup_share", "weight_decay", "dropout", "pooling"),
    )
    architecture: Architecture
    pretraining_seed: Seed
    seed: Seed
    label_smoothing: float = 0.0
    """Of a task whose targets are texts: the recipe's, as its dropout is."""
    device: Device = "cpu"
    precision: Precision = "float32"
    deterministic: bool = True
    own_task: StageTask | None = None
    output_layer: OutputLayer | None = None
    """The pretrained output layer, where the loss has a language model's; None: it has none."""

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)

    @property
    def root_seed(self) -> int:
        """The seed of all random streams of the fine-tuning; it depends on both seeds and not on the arm."""
        return stream_seed(self.pretraining_seed, "fine-tuning", self.seed)

    @classmethod
    def of(
        cls, experiment: Experiment, candidate: Candidate, seed: int, run: FineTuningRun, sources: Mapping[str, Stage]
    ) -> Stage:
        """Return the fine-tuning of a candidate; of a task whose targets are texts, with the vocabulary they have."""
        settings = run.settings.model_copy(update=candidate.fine_tuning.values)
        examples, objective = sources["examples"].declaration, candidate.objective
        assert isinstance(examples, ExamplesStage)
        layer = objective.output_layer if isinstance(objective, LanguageModel) else None
        declaration = cls(
            output_layer=layer if settings.language_model_weight else None,
            architecture=candidate.architecture,
            device=candidate.recipe.device,
            precision=candidate.recipe.precision,
            deterministic=candidate.recipe.deterministic,
            task=run.task,
            own_task=examples.own_task,
            pretraining_seed=seed,
            seed=run.seed,
            **settings.training,
        )
        read = {name: stage for name, stage in sources.items() if name != "tokens"}
        if experiment.fine_tuning.find(run.task).form == "text_pair":
            smoothing = declaration.generation.label_smoothing
            of_recipe = {name: getattr(candidate.recipe, name) for name in ("dropout", "label_smoothing")}
            changes = of_recipe if smoothing is None else {**of_recipe, "label_smoothing": smoothing}
            declaration = declaration.model_copy(update=changes)
            read["tokens"] = sources["tokens"]  # whose vocabulary turns generated tokens into text
        return Stage(declaration, read)
