"""Fine-tuning as it is asked for: the tasks, how they are taught, what single ones do otherwise, what is searched.

Values of the releases: configure_finetuning.py of ELECTRA and ConvBERT; the searched ones: arXiv 2008.02496.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from foundation.schema import Count, JsonValue, PositiveNumber, Schema, Seed, Share, partial
from tasks.corpora.corpus import Corpus
from tasks.dataset_folder import PublishedData

ChosenOn = Literal["held_out_half", "dev"]


class TaskExamples(Schema):
    """The examples of a task: how many, and how they are made into sequences."""

    train_examples: Count | None = None
    """Training examples of a task at most; all of a published task, 4000 of one made from documents."""
    dev_examples: Count | None = None
    """Dev examples of a task at most; all of a published task, 1000 of one made from documents."""
    sequence_length: Count = 128
    """Tokens of a sequence; longer texts are cut, SQuAD's are read in windows."""
    swap_pairs: bool = False
    """Train on each pair the other way round too, where texts may change places: MRPC, STS-B, QQP.

    ELECTRA's release swaps the first two alone; `by_task` says so task by task.
    """


class TaskTraining(Schema):
    """How an encoder is trained on the examples of a task: what a fine-tuning stage computes with."""

    epochs: Count = Field(default=3, examples=[10])
    """Passes over the training examples."""
    batch_examples: Count = 32
    """Training examples of a batch."""
    peak_learning_rate: PositiveNumber = 3e-4
    """Largest learning rate. Default: ELECTRA-Small's and ConvBERT's releases."""
    layer_rate_decay: Share = Field(default=1.0, gt=0)
    """Each block learns at this share of the rate of the one above it; 0.8 in ELECTRA's and ConvBERT's releases."""
    warmup_share: float = Field(default=0.1, ge=0, lt=1)
    """Share of the updates in which the rate rises to its peak. Default: ELECTRA's release."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay of AdamW."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout probability while a task is taught."""
    pooling: Literal["first", "mean"] = "first"
    """What a label is read from: the [CLS] vector, as the releases do, or the mean over the tokens."""


class TaskSettings(partial(TaskExamples, TaskTraining)):  # type: ignore[misc]
    """What one task does otherwise; what is not named here is as for every task, and is not searched for."""

    @property
    def changes(self) -> dict[str, Any]:
        """The fields that are named."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def _nothing_taken_back(value: object) -> object:
    return {} if value is None else value


ByTask = Annotated[
    Mapping[str, TaskSettings],
    BeforeValidator(_nothing_taken_back, json_schema_input_type=Mapping[str, TaskSettings] | None),
]
"""Settings by task; `null` takes back what a scale of another file says."""


class SettingsSearch(Schema):
    """Every combination is taught; per task and fine-tuning seed the best is chosen and it alone is reported.

    ConvBERT searches peak_learning_rate 5e-5, 1e-4, 2e-4, 3e-4, weight_decay 0.01, 0.1 and epochs 10, 3.
    """

    peak_learning_rate: tuple[PositiveNumber, ...] = Field(default=(), examples=[[1e-4, 3e-4]])
    """Peak learning rates to try; empty keeps the one rate."""
    weight_decay: tuple[float, ...] = ()
    """Weight decays to try; empty keeps the one value."""
    epochs: tuple[Count, ...] = ()
    """Numbers of epochs to try; empty keeps the one number."""
    choose_on: ChosenOn = "held_out_half"
    """`held_out_half`: by one half of the dev set, with the other half reported; `dev`: by what is reported."""

    def combinations(self, fixed: Mapping[str, object]) -> Iterator[dict[str, JsonValue]]:
        """Yield the combinations of all that is not fixed, in the order of the lists."""
        axes: dict[str, tuple[float, ...]] = {
            "peak_learning_rate": self.peak_learning_rate,
            "weight_decay": self.weight_decay,
            "epochs": self.epochs,
        }
        searched = {name: values for name, values in axes.items() if values and name not in fixed}
        for values in product(*searched.values()):
            yield dict(zip(searched, values, strict=True))


class FineTuning(TaskExamples, TaskTraining):
    """The second stage: which tasks each pretrained model is asked, and how it is taught them."""

    tasks: tuple[str, ...] = ()
    """Downstream tasks by name, such as cola or docs_pair; none skips fine-tuning."""
    seeds: tuple[Seed, ...] = Field(default=(1,), min_length=1)
    """Fine-tuning seeds; their results are averaged within each pretraining seed."""
    corpus: Corpus | None = None
    """Where the tasks' documents come from; the pretraining corpus where none is named."""
    data: PublishedData | None = Field(default=None, examples=["data"])
    """Where the files of published tasks lie: the official layout's folder, or one that holds `glue` and `squad`."""
    by_task: ByTask = Field(default_factory=dict, examples=[{"rte": {"epochs": 10}}])
    """What single tasks do otherwise."""
    search: SettingsSearch | None = None
    """Settings that are searched for, per task and fine-tuning seed."""
    untrained_seeds: tuple[Seed, ...] = ()
    """Seeds of untrained encoders of the baseline's architecture; each is evaluated on every task, as a reference."""
    max_overlap: Share | None = None
    """Largest share of a task's dev examples that may stand in the pretraining text; more is refused."""

    @property
    def training(self) -> dict[str, Any]:
        """What a fine-tuning stage computes with."""
        return {name: getattr(self, name) for name in TaskTraining.model_fields}
