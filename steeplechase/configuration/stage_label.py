"""The label of a stage within its trial or among the shared stages: `pretrain@500000`, `rte#1 epochs=3`.

The ledger stores labels as text; only this file writes and parses that text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

CORPUS, PRETRAIN, PROBE, FINE_TUNE = "corpus", "pretrain", "probe", "fine_tune"
LONG_SEQUENCE_PHASE = "long_sequence_phase"
"""The stage that continues pretraining with longer sequences, for tasks with long texts."""
UNPRUNED = "unpruned"
"""The pretraining of a model that is pruned at its end; the pruned model has the label of the budget."""
LINEAR_PROBE, MINIMAL_PAIRS = "linear_probe", "minimal_pairs"
"""The stages that evaluate a frozen encoder on a task; see `steeplechase.tasks.labelled.task.Method`."""
TASK_STAGES = (FINE_TUNE, LINEAR_PROBE, MINIMAL_PAIRS)
"""The kinds of stages that end in the scores of a downstream task."""
UNTRAINED = "untrained"
"""The stage that initialises an untrained encoder, and the prefix of the labels of tasks evaluated on it."""
WORD_EMBEDDINGS = "word_embeddings"
"""The stage that computes embeddings of the rare words of a task before it is fine-tuned."""

_WORD, _WHOLE = r"[^@# ]+", r"0|[1-9][0-9]*"
_AT_TOKENS = re.compile(rf"(?P<kind>{_WORD})@(?P<tokens>{_WHOLE})")
_SEARCHED = r"(?: (?P<searched>[A-Za-z_.]+=.*))?"
_FINE_TUNING = re.compile(rf"(?P<untrained>{UNTRAINED} )?(?P<task>{_WORD})#(?P<seed>{_WHOLE}){_SEARCHED}", re.DOTALL)
_OTHER_CORPUS = re.compile(rf"(?P<kind>{_WORD}) for tasks (?P<number>{_WHOLE})")
_AT_LENGTH = re.compile(rf"(?P<kind>{_WORD}) n = (?P<length>{_WHOLE})")
_OF_TASK = re.compile(rf"(?P<kind>{_WORD}) (?P<task>{_WORD})")
_OF_DATA = re.compile(rf"(?P<label>.+) of (?P<data>{_WORD})")
_BETWEEN_SETTINGS = re.compile(r" (?=[A-Za-z_.]+=)")


@dataclass(frozen=True)
class StageLabel:
    """Identifies a stage within its trial. `str()` gives the label, `parse` reads it."""

    kind: str
    """pretrain, probe, fine_tune, long_sequence_phase, attention, corpus, tokens, examples, …"""
    tokens: int | None = None
    """Of pretraining and of a probe: tokens seen at the end of the stage."""
    task: str | None = None
    seed: int | None = None
    """The fine-tuning seed; 0 for a task on the frozen encoder; of an untrained encoder its own seed too."""
    searched: tuple[tuple[str, str], ...] = ()
    """Of one combination of a fine-tuning search: each setting with its value as text."""
    number: int | None = None
    """Of a corpus for tasks other than the pretraining corpus: its number from 1. Of an untrained encoder: seed."""
    length: int | None = None
    """Of a stage that times all arms: tokens of a sequence."""
    data: str | None = None
    """Of a stage of the text or vocabulary that arms have in place of the experiment's: its name."""

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, label: str) -> "StageLabel":
        """Return the parsed label; text in no other form is the kind of a stage that exists once."""
        if match := _AT_TOKENS.fullmatch(label):
            return cls(match["kind"], tokens=int(match["tokens"]))
        if match := _FINE_TUNING.fullmatch(label):
            settings = _BETWEEN_SETTINGS.split(match["searched"]) if match["searched"] else []
            searched = tuple((name, value) for name, _, value in (setting.partition("=") for setting in settings))
            kind = UNTRAINED if match["untrained"] else FINE_TUNE
            return cls(kind, task=match["task"], seed=int(match["seed"]), searched=searched)
        if match := _OTHER_CORPUS.fullmatch(label):
            return cls(match["kind"], number=int(match["number"]))
        if match := _AT_LENGTH.fullmatch(label):
            return cls(match["kind"], length=int(match["length"]))
        if match := _OF_DATA.fullmatch(label):
            return replace(cls.parse(match["label"]), data=match["data"])
        match = _OF_TASK.fullmatch(label)
        return cls(match["kind"], task=match["task"]) if match else cls(label)

    @property
    def corpus_setting(self) -> str | None:
        """The setting of an experiment that names the corpus; None of a stage of another kind."""
        if self.kind != CORPUS:
            return None
        return f"data.{self.data}.corpus" if self.data else "corpus" if self.number is None else "fine_tuning.corpus"

    def __str__(self) -> str:
        """Return the label as stored in the ledger."""
        if self.data is not None:
            return f"{replace(self, data=None)} of {self.data}"
        if self.tokens is not None:
            return f"{self.kind}@{self.tokens}"
        if self.seed is not None:
            prefix = [UNTRAINED] if self.kind == UNTRAINED else []
            settings = [f"{name}={value}" for name, value in self.searched]
            return " ".join([*prefix, f"{self.task}#{self.seed}", *settings])
        if self.number is not None:
            return f"{self.kind} for tasks {self.number}"
        if self.length is not None:
            return f"{self.kind} n = {self.length}"
        return self.kind if self.task is None else f"{self.kind} {self.task}"

    @property
    def cell(self) -> "StageLabel":
        """The label without searched values: `rte#1` of `rte#1 epochs=3`."""
        return StageLabel(self.kind, self.tokens, self.task, self.seed, number=self.number)

    @property
    def settings(self) -> str:
        """The searched values as text: `epochs=3 batch_examples=16`; empty without a search."""
        return " ".join(f"{name}={value}" for name, value in self.searched)


def pretraining_marks(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of pretraining stages, in their order."""
    return tuple(label for label in labels if StageLabel.parse(label).kind == PRETRAIN)


def fine_tuning_cells(labels: Iterable[str]) -> tuple[StageLabel, ...]:
    """Return the distinct task and seed pairs of the fine-tunings, in their order."""
    parsed = (StageLabel.parse(text) for text in labels)
    return tuple(dict.fromkeys(label.cell for label in parsed if label.kind == FINE_TUNE))
