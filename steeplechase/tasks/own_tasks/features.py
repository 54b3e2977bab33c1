"""`kind: features`, a task with a BiLSTM on the encoder's hidden states. BERT, arXiv 1810.04805, Tables 5 and 7."""

from dataclasses import replace
from typing import Literal

from steeplechase.foundation.schema import Count, Schema
from steeplechase.models.feature_layers import Features
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks.derived import DerivedTask
from steeplechase.tasks.own_tasks.table import TableFormat

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
