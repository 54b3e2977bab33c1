"""Declarations of the stages that measure a model: trained, untrained or timed. Without torch, for `plan`."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from runners.stages.stage import StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.rare_words import RareWords
from steeplechase.configuration.hurdles.zero_cost import ProxyName
from steeplechase.configuration.latency import Part
from steeplechase.configuration.measurements import PERPLEXITY, RARE_WORDS
from steeplechase.configuration.stage_label import LATENCY, WORD_EMBEDDINGS, ZERO_COST
from steeplechase.foundation.schema import Count, JsonValue, Name, Seed
from steeplechase.ledger.stage_results import Machine
from steeplechase.tasks.language_model_texts import LanguageModelText


class AttentionStage(StageDeclaration):
    """Measure the attention of a pretrained encoder on held-out text. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = "attention"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    length: Count
    """Tokens of a sequence, [CLS] and [SEP] included."""
    within: Count
    """Maximum distance in positions of a near pair of query and key."""
    sequences: Count
    device: Literal["cpu", "cuda"] = "cpu"


class RareWordsStage(StageDeclaration):
    """Train embeddings of words from form and contexts, and measure them on words left out.

    Reads `pretrained` and `tokens`.
    """

    stage: ClassVar[str] = RARE_WORDS
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    settings: RareWords
    occurrences: Count
    text_tokens: Count
    most_words: Count
    held_out_share: float
    seed: Seed
    device: Literal["cpu", "cuda"] = "cpu"


class WordEmbeddingsStage(StageDeclaration):
    """Train embeddings of words from form and contexts, and compute those of the rare words of a task's examples.

    Reads `pretrained`, `tokens` and `examples`.
    """

    stage: ClassVar[str] = WORD_EMBEDDINGS
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    task: str
    """The task whose rare words are embedded, for messages."""
    settings: RareWords
    occurrences: Count
    text_tokens: Count
    most_words: Count
    seed: Seed
    device: Literal["cpu", "cuda"] = "cpu"


class PerplexityStage(StageDeclaration):
    """Measure a language model on a text. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = PERPLEXITY
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    hashed_instead: ClassVar[dict[str, str]] = {"text": "read"}
    candidate: Candidate
    generator: Architecture | None = None
    name: Name
    """The text's name in the experiment."""
    text: LanguageModelText
    read: JsonValue
    """The identity of the text's content."""
    length: Count
    """Tokens of a window, [CLS] and [SEP] included."""
    new_tokens: Count | None = None
    memory: int | None = None
    """Tokens of memory; None: as trained."""


class LatencyStage(StageDeclaration):
    """Measure the latency of one part of every arm at one sequence length. Reads nothing.

    All arms are in one stage: ratios are paired by round, and a round runs every arm once in one process.
    """

    stage: ClassVar[str] = LATENCY
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    uses_kernels: ClassVar[bool] = True
    exclusive: ClassVar[bool] = True
    arms: Mapping[Name, Architecture]
    part: Part
    length: Count
    """Tokens of a sequence, without padding."""
    batch_sequences: Count
    rounds: Count
    warm_up_rounds: int
    seed: Seed
    device: Literal["cpu", "cuda"]
    precision: Literal["float32", "bfloat16"]
    machine: Machine
    """What latency depends on besides the declaration: processor, device, versions, a hash of the model code."""


class ZeroCostStage(StageDeclaration):
    """Compute a zero-cost proxy of an untrained model on its first batch. Reads `tokens`."""

    stage: ClassVar[str] = ZERO_COST
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy", "tokenizers")
    uses_kernels: ClassVar[bool] = True
    candidate: Candidate
    generator: Architecture | None
    seed: Seed
    proxy: ProxyName
