"""`fine_tuning:`, downstream tasks, hyperparameters, settings of tasks, of written texts, and the search."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from search_space.architecture import VOCABULARY_AT_MOST
from search_space.fine_tuning import FineTuningRecipe
from search_space.source_encoder import SourceEncoderSizes
from steeplechase.configuration.seeds import SeedList
from steeplechase.foundation.schema import Count, JsonValue, Name, PositiveNumber, Schema, Share, partial
from steeplechase.tasks.corpora.option import Corpus
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_metrics import FunctionReference, module_of
from steeplechase.tasks.own_tasks import OwnTask
from steeplechase.tasks.own_tasks.derived import DerivedTask, RareWordsTask, RarifiedTask
from steeplechase.tasks.own_tasks.table import TableTask
from steeplechase.tasks.tokenizer import TokenizerDeclaration


class SourceEncoder(SourceEncoderSizes):
    """A new encoder of the pretrained model's width in place of its embeddings of source tokens, and two stages.

    The first stage updates the new encoder, the learned positions of both stacks, and the matrices of queries, keys
    and values of the pretrained encoder's first self-attention; the second updates everything (BART, section 3.4).
    Only an `encoder_decoder` has embeddings of the source alone; what `export` writes is the pretrained model.

    BART, Lewis et al. 2019, arXiv 1910.13461, section 3.4.
    """

    vocabulary_size: Annotated[int, Field(ge=1, le=VOCABULARY_AT_MOST)] | None = Field(default=None, examples=[8000])
    """Tokens of a vocabulary of the source's own, learned from the sources of the training examples; targets keep
    that of pretraining. None: sources have that of pretraining too, so that the encoder alone is new."""
    tokenizer: TokenizerDeclaration | None = Field(default=None, examples=[{"kind": "wordpiece"}])
    """What learns or reads the source's own vocabulary. None: the experiment's tokenizer."""
    first_stage_share: Share = 0.8
    """Share of the updates in the first stage; 1: no others are updated ever (BART's `fixed`), 0: all are from the
    beginning. Default: this project's; BART gives none."""
    second_stage_learning_rate: PositiveNumber | None = Field(default=None, examples=[3e-5])
    """Largest learning rate of the second stage, whose schedule begins anew. None: `peak_learning_rate`."""


class TextGeneration(Schema):
    """How a task of sources and targets is trained and decoded; dropout and label smoothing are the recipe's."""

    schedule: Literal["linear", "inverse_square_root"] = "linear"
    """The learning rate after the warm-up: linear to 0, or by the inverse square root of the updates (arXiv
    1706.03762, section 5.3)."""
    averaged_checkpoints: Count = 1
    """Checkpoints whose weights are averaged, one after each of the last epochs; 1: the last weights. Vaswani et al.
    average 5 (section 6.1)."""
    beams: Count = 1
    """Hypotheses of the beam search; 1 is greedy search. Vaswani et al.: 4."""
    length_penalty: float = Field(default=0.6, ge=0, le=10)
    """α of the length penalty ((5 + length) / 6)^α of a beam search (arXiv 1609.08144, eq. 14). Default: Vaswani
    et al.'s."""
    label_smoothing: float | None = Field(default=None, ge=0, lt=1, examples=[0.1])
    """Share of the target distribution that is spread over the vocabulary; None: the recipe's, which an architecture
    without a decoder has not. UNILM: 0.1."""
    target_mask_share: float = Field(default=0.7, gt=0, le=1)
    """Share of a target's tokens that a stack without a decoder masks and predicts in training; a decoder predicts
    every token. Default: UNILM's (arXiv 1905.03197, section 2.4)."""
    longest_output: Count | None = None
    """The most tokens of a generated text, its end included; by default the task's `sequence_length`."""
    source_encoder: SourceEncoder | None = Field(default=None, examples=[{"depth": 6, "vocabulary_size": 8000}])
    """A new encoder of the source, for a language that pretraining has not seen. None: the pretrained model reads the
    source as it is."""


DEEPEST = 2
"""Steps from a derived task to the one it is derived from in the end."""
ChosenOn = Literal["held_out_half", "dev"]


class TaskExamples(Schema):
    """Number and encoding of a task's examples."""

    train_examples: Count | None = None
    """Maximum number of training examples; by default all of a published task, 4000 of one made from documents."""
    dev_examples: Count | None = None
    """Maximum number of dev examples; by default all of a published task, 1000 of one made from documents."""
    sequence_length: Count = 128
    """Tokens of a sequence; longer texts are truncated, SQuAD's are split into windows."""
    swap_pairs: bool = False
    """Also train on each pair in reverse order, for tasks with unordered pairs: MRPC, STS-B, QQP.

    ELECTRA's release swaps the first two only; use `by_task` for that.
    """


class TaskTraining(FineTuningRecipe):
    """Hyperparameters of fine-tuning on a task."""

    generation: TextGeneration = Field(default_factory=TextGeneration, examples=[{"beams": 4}])
    """Training and decoding of tasks whose targets are texts, such as multi30k_de_en."""


class TaskSettings(partial(TaskExamples, TaskTraining)):  # type: ignore[misc]
    """Settings of one task that override the common ones; a field that is set here is not searched."""

    @property
    def changes(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def _empty_if_null(value: object) -> object:
    return {} if value is None else value


ByTask = Annotated[
    Mapping[str, TaskSettings],
    BeforeValidator(_empty_if_null, json_schema_input_type=Mapping[str, TaskSettings] | None),
]
"""Settings by task; `null` removes the settings that a scale of another file has."""


class SettingsSearch(Schema):
    """Fine-tunes with every combination; per task and fine-tuning seed only the best is reported.

    ConvBERT searches peak_learning_rate 5e-5, 1e-4, 2e-4, 3e-4, weight_decay 0.01, 0.1 and epochs 10, 3.
    """

    peak_learning_rate: tuple[PositiveNumber, ...] = Field(default=(), examples=[[1e-4, 3e-4]])
    """Peak learning rates to try; empty for no search over it."""
    weight_decay: tuple[float, ...] = ()
    """Weight decays to try; empty for no search over it."""
    epochs: tuple[Count, ...] = ()
    """Numbers of epochs to try; empty for no search over it."""
    choose_on: ChosenOn = "held_out_half"
    """`held_out_half`: select on one half of the dev set, report the other; `dev`: select on the reported scores."""

    def combinations(self, fixed: Mapping[str, object]) -> Iterator[dict[str, JsonValue]]:
        """Yield the combinations of the settings that are not fixed, in the order of the lists."""
        axes: dict[str, tuple[float, ...]] = {
            "peak_learning_rate": self.peak_learning_rate,
            "weight_decay": self.weight_decay,
            "epochs": self.epochs,
        }
        searched = {name: values for name, values in axes.items() if values and name not in fixed}
        for values in product(*searched.values()):
            yield dict(zip(searched, values, strict=True))


class FineTuning(TaskExamples, TaskTraining):
    """Downstream tasks and how each pretrained model is fine-tuned on them."""

    tasks: tuple[str, ...] = ()
    """Downstream tasks by name, such as cola or docs_pair, and of `own_tasks`; an empty list skips fine-tuning."""
    seeds: SeedList = Field(default=(1,), min_length=1)
    """Fine-tuning seeds; their results are averaged within each pretraining seed."""
    metrics: Mapping[str, tuple[FunctionReference, ...]] = Field(
        default_factory=dict, examples=[{"reviews": ["costs:weighted_accuracy"]}]
    )
    """By task, further metrics of your own: `FILE:FUNCTION` of `tasks/own_metrics/FILE.py` in a plugin."""
    corpus: Corpus | None = None
    """Source of the documents of docs_* tasks; by default the pretraining corpus."""
    data: PublishedData | None = Field(default=None, examples=["data"])
    """Folder of the files of published tasks: the official layout, or a folder with `glue` and `squad`."""
    own_tasks: Mapping[Name, OwnTask] = Field(
        default_factory=dict,
        examples=[
            {
                "reviews": {
                    "kind": "table",
                    "train": "reviews.csv",
                    "dev_share": 0.1,
                    "columns": {"text": "review", "label": "stars"},
                }
            }
        ],
    )
    """Tasks that this experiment declares, by name: tables of examples, tasks derived from others, or variants of
    tasks with settings of their own in `by_task`."""
    by_task: ByTask = Field(default_factory=dict, examples=[{"rte": {"epochs": 10}}])
    """Settings of single tasks, over the common ones."""
    search: SettingsSearch | None = None
    """Search over settings, per task and fine-tuning seed."""
    untrained_seeds: SeedList = ()
    """Seeds of untrained encoders of the baseline's architecture; each is evaluated on every task, as a reference."""
    max_overlap: Share | None = None
    """Contamination limit, for text from the web: the largest share of a task's dev examples that it may have."""

    def find(self, name: str) -> DownstreamTask:
        """Return a task, declared here or known; of a table, labels are known once its files are read.

        Raises ConfigurationError for an unknown name.
        """
        own = self.own_tasks.get(name)
        if isinstance(own, DerivedTask):
            return own.task(name, self.find(own.of))
        return find_task(name) if own is None else own.task(name)

    @property
    def known_tasks(self) -> tuple[str, ...]:
        """The names that `find` accepts: known tasks, and those declared here whose sources are known."""
        own = [name for name, task in self.own_tasks.items() if isinstance(task, TableTask) and task.is_consistent]
        for _ in range(DEEPEST):
            sources = {*task_names(), *own}
            own += [
                name for name, task in self.own_tasks.items() if isinstance(task, DerivedTask) and task.of in sources
            ]
        return (*task_names(), *sorted(set(own) - set(task_names())))

    def is_table(self, name: str) -> bool:
        """Return whether a task is read from a table of `own_tasks`, so that it does not need `data`."""
        return isinstance(self.own_tasks.get(self.root_of(name)), TableTask)

    def root_of(self, name: str) -> str:
        """Return the task that a derived task is derived from in the end; another task is its own."""
        for _ in range(DEEPEST):
            own = self.own_tasks.get(name)
            name = own.of if isinstance(own, DerivedTask) else name
        return name

    def rarified(self, name: str) -> RarifiedTask | None:
        """Return the rarified task that a task is, or whose rare words it embeds; None for other tasks."""
        own = self.own_tasks.get(name)
        found = self.own_tasks.get(own.of) if isinstance(own, RareWordsTask) else own
        return found if isinstance(found, RarifiedTask) else None

    @property
    def metric_modules(self) -> tuple[str, ...]:
        """The modules that have the functions of `metrics`."""
        return tuple(dict.fromkeys(module_of(each) for references in self.metrics.values() for each in references))

    def primary_metric(self, task: str) -> str:
        """Return the primary metric of a task."""
        return self.find(task).metrics[0]

    @property
    def shared_training(self) -> dict[str, Any]:
        """The hyperparameters that hold on every task: without those that single tasks or a search set."""
        own = {name for settings in self.by_task.values() for name in settings.changes}
        searched = {name for name in SettingsSearch.model_fields if self.search and getattr(self.search, name)}
        return {name: value for name, value in self.training.items() if name not in own | searched}

    @property
    def training(self) -> dict[str, Any]:
        """The hyperparameters of a fine-tuning stage."""
        return {name: getattr(self, name) for name in TaskTraining.model_fields}
