"""A task that an experiment derives from another one: the same labels and metrics, read or asked differently."""

from abc import abstractmethod
from dataclasses import replace
from typing import Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema
from steeplechase.models.feature_layers import Features
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.table import TableFormat


class DerivedTask(Schema):
    """A task of another name; its examples and labels are those of a known task or of a table."""

    of: str = Field(min_length=1, examples=["conll2003"])
    """The task by name: a known one, or a table of `own_tasks`."""

    @abstractmethod
    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of this name that is derived from `base`."""


FORMS = ("single", "pair", "tags", "span", "windows")
"""Forms of tasks whose head reads one vector per token of a sequence."""


class FeatureHead(Schema):
    """Hidden states of the encoder, and the sizes of the BiLSTM that reads them."""

    encoder: Literal["frozen", "trained"] = "frozen"
    """Whether the encoder is fine-tuned too. BERT: frozen in Table 7, trained in Table 5 (`LTR + BiLSTM`)."""

    features: Features = "concat_last_four"
    """Hidden states that the BiLSTM reads; concat_last_four is the best row of BERT's Table 7."""
    lstm_width: Count = 768
    """Width of each direction of the BiLSTM."""
    lstm_layers: Count = 2
    """Layers of the BiLSTM."""


class FeatureTask(DerivedTask, FeatureHead):
    """A task of another name whose head reads a BiLSTM on hidden states."""

    kind: Literal["features"] = "features"
    """Chooses a BiLSTM on hidden states of the encoder."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name with the same examples, labels and metrics."""
        return replace(base, name=name, method="fine_tune", trains_encoder=self.encoder == "trained", evaluate=None)


class ResolvedFeatures(FeatureTask):
    """The task with the format of its table, for a stage."""

    table: TableFormat | None = None
    """None for a known task."""


class VariantTask(DerivedTask):
    """The same examples and metrics under another name: one model, fine-tuned with several settings."""

    kind: Literal["variant"] = "variant"
    """Chooses a task under another name."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name."""
        return replace(base, name=name, evaluate=None)


class ResolvedVariant(VariantTask):
    """The task with the format of its table, for a stage."""

    table: TableFormat | None = None
    """None for a known task."""
