"""How tasks are taught: what one task does otherwise than the others, and settings that are searched for.

Values of the releases: configure_finetuning.py of ELECTRA and ConvBERT; the searched ones: arXiv 2008.02496.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from search_space.declaration import Count, Declaration, JsonValue, Number, PositiveNumber, Share

if TYPE_CHECKING:
    from runners.asked.experiment import FineTuning

ChosenOn = Literal["held_out_half", "dev"]


class TaskSettings(Declaration):
    """What one task does otherwise; what is not named here is as for every task, and is not searched for."""

    train_examples: Count | None = None
    dev_examples: Count | None = None
    epochs: Count | None = Field(default=None, examples=[10])
    batch_examples: Count | None = None
    peak_learning_rate: PositiveNumber | None = None
    layer_rate_decay: Share | None = Field(default=None, gt=0)
    warmup_share: Number | None = Field(default=None, ge=0, lt=1)
    weight_decay: Number | None = Field(default=None, ge=0)
    dropout: Number | None = Field(default=None, ge=0, lt=1)
    pooling: Literal["first", "mean"] | None = None
    sequence_length: Count | None = None
    swap_pairs: bool | None = None

    @property
    def changes(self) -> dict[str, object]:
        """The fields that are named."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def _nothing_taken_back(value: object) -> object:
    return {} if value is None else value


ByTask = Annotated[
    Mapping[str, TaskSettings],
    BeforeValidator(_nothing_taken_back, json_schema_input_type=Mapping[str, TaskSettings] | None),
]
"""Settings by task; `null` takes back what a scale of another file says."""


class SettingsSearch(Declaration):
    """Every combination is taught; per task and fine-tuning seed the best is chosen and it alone is reported.

    ConvBERT searches peak_learning_rate 5e-5, 1e-4, 2e-4, 3e-4, weight_decay 0.01, 0.1 and epochs 10, 3.
    """

    peak_learning_rate: tuple[PositiveNumber, ...] = Field(default=(), examples=[[1e-4, 3e-4]])
    weight_decay: tuple[Number, ...] = ()
    epochs: tuple[Count, ...] = ()
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


@dataclass(frozen=True)
class Teaching:
    """One fine-tuning of a trial: a task, a seed, and how it is taught."""

    task: str
    seed: int
    settings: "FineTuning"
    """With what the task does otherwise put in."""
    searched: Mapping[str, JsonValue]
    """The values of this combination; empty where the task is taught in one way."""
    chosen_on: ChosenOn | None

    @property
    def label(self) -> str:
        """The stage's name within its trial."""
        return " ".join([f"{self.task}#{self.seed}", *(f"{name}={value}" for name, value in self.searched.items())])


def settings_of(tuning: "FineTuning", task: str) -> "FineTuning":
    """Return how a task is taught where nothing is searched for."""
    otherwise = tuning.by_task.get(task)
    return tuning if otherwise is None else tuning.model_copy(update=otherwise.changes)


def teachings(tuning: "FineTuning") -> tuple[Teaching, ...]:
    """Return every fine-tuning of a trial, by task, seed and combination."""
    return tuple(
        teaching
        for task in sorted(tuning.tasks)
        for seed in tuning.seeds
        for teaching in _of_seed(tuning, task, seed)
    )


def combinations_of(tuning: "FineTuning", task: str) -> tuple[dict[str, JsonValue], ...]:
    """Return what is searched for on a task; empty where it is taught in one way."""
    if tuning.search is None:
        return ()
    fixed = tuning.by_task.get(task, TaskSettings()).changes
    found = tuple(tuning.search.combinations(fixed))
    return found if found != ({},) else ()


def _of_seed(tuning: "FineTuning", task: str, seed: int) -> Iterator[Teaching]:
    settings = settings_of(tuning, task)
    found = combinations_of(tuning, task)
    if not found:
        yield Teaching(task, seed, settings, {}, None)
    assert tuning.search is not None or not found
    for searched in found:
        chosen_on = tuning.search.choose_on if tuning.search else None
        yield Teaching(task, seed, settings.model_copy(update=dict(searched)), searched, chosen_on)
