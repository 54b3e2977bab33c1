"""What every kind of stage is told. Torch-free, so that keys can be known before anything runs."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from configuration.latency import Part
from foundation.schema import Count, JsonValue, Name, Number, PositiveNumber, Seed, Share
from ledger.latency import Machine
from runners.stages.stage import StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from tasks.corpora.corpus import Corpus
from tasks.dataset_folder import PublishedData
from tasks.tokenizer import TokenizerDeclaration


class CorpusStage(StageDeclaration):
    """Read the documents, remove duplicates, split them."""

    stage: ClassVar[str] = "corpus"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"corpus": "read"}
    corpus: Corpus
    read: JsonValue
    """Identity of what will be read: hashes of its content."""


class TokensStage(StageDeclaration):
    """Make the vocabulary from the training split and turn the splits into tokens. Reads `corpus`."""

    stage: ClassVar[str] = "tokens"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers",)
    hashed_instead: ClassVar[dict[str, str]] = {"tokenizer": "read"}
    tokenizer: TokenizerDeclaration
    read: JsonValue
    """Identity of the vocabulary: how it is trained, or the hash of the file."""
    vocabulary_size: Count


class ExamplesStage(StageDeclaration):
    """Make the examples of one downstream task.

    Reads `tokens` (vocabulary) and, where the task is made from documents, `corpus`.
    """

    stage: ClassVar[str] = "examples"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers", "scikit-learn")
    hashed_instead: ClassVar[dict[str, str]] = {"data": "read"}
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    """At most so many; all where there is no number."""
    sequence_length: Count
    data: PublishedData | None = None
    read: JsonValue = None
    """The sha256 of each of the task's files, where it has files."""
    swap_pairs: bool = False
    """Whether every training pair is there the other way round too."""


class ContaminationStage(StageDeclaration):
    """Count the dev examples of a task that the pretraining text holds.

    Reads `corpus` and, where the task is made from documents, those of `documents`.
    """

    stage: ClassVar[str] = "contamination"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"data": "read"}
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    data: PublishedData | None
    read: JsonValue


class EvaluationSetStage(StageDeclaration):
    """Make the held-out questions; with a generator, train it first and let it corrupt them. Reads `tokens`."""

    stage: ClassVar[str] = "evaluation_set"
    code_version: ClassVar[int] = 2
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    reference: Candidate
    """The baseline's objective and recipe, on the generator's architecture where there is one."""
    objective: Literal["masked_language_model", "replaced_token_detection"]
    sequences: Count
    generator_tokens: int
    """Tokens the reference generator is trained on; 0 where there is none."""


class PretrainStage(StageDeclaration):
    """Train a candidate from one token mark to the next. Reads `tokens`, `questions` and, past 0, `previous`."""

    stage: ClassVar[str] = "pretrain"
    hashed_instead: ClassVar[dict[str, str]] = {"init_checkpoint": "init_checkpoint_weights"}
    code_version: ClassVar[int] = 2
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
    """The whole budget, where the schedule depends on it."""
    init_checkpoint: str | None = None
    """Folder of the weights that the encoder is initialised from; drawn from the seed where it is None."""
    init_checkpoint_weights: str | None = None
    """The sha256 of those weights."""


class FineTuneStage(StageDeclaration):
    """Teach a pretrained encoder one task with one seed. Reads `pretrained` and `examples`."""

    stage: ClassVar[str] = "fine_tune"
    code_version: ClassVar[int] = 2
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    task: str
    seed: Seed
    epochs: Count
    batch_examples: Count
    peak_learning_rate: PositiveNumber
    warmup_share: Number
    pooling: Literal["first", "mean"]
    device: Literal["cpu", "cuda"] = "cpu"
    precision: Literal["float32", "bfloat16"] = "float32"
    weight_decay: Number
    dropout: Number
    layer_rate_decay: Share = 1.0


class AttentionStage(StageDeclaration):
    """Measure where a pretrained encoder attends on held-out text. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = "attention"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    length: Count
    """Tokens of a sequence, the marks around it included."""
    within: Count
    sequences: Count
    device: Literal["cpu", "cuda"] = "cpu"


class LatencyStage(StageDeclaration):
    """Time one part of every arm at one length. Reads nothing.

    All arms in one stage: a ratio is paired by rounds, and a round passes every arm once in one process.
    """

    stage: ClassVar[str] = "latency"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    uses_kernels: ClassVar[bool] = True
    exclusive: ClassVar[bool] = True
    arms: Mapping[Name, Architecture]
    part: Part
    length: Count
    """Tokens of a sequence, none of them padding."""
    batch_sequences: Count
    rounds: Count
    warm_up_rounds: int
    seed: Seed
    device: Literal["cpu", "cuda"]
    precision: Literal["float32", "bfloat16"]
    machine: Machine
    """What a time depends on and no other result does: the processor and the source of the models among it."""


KINDS: dict[str, type[StageDeclaration]] = {
    kind.stage: kind
    for kind in (
        CorpusStage,
        TokensStage,
        ExamplesStage,
        ContaminationStage,
        EvaluationSetStage,
        PretrainStage,
        FineTuneStage,
        AttentionStage,
        LatencyStage,
    )
}
"""Every kind of stage by name; the file of that name in this folder computes it."""
