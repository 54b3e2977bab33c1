"""Declarations of all kinds of stages. Without torch, because `plan` computes keys too."""

from typing import ClassVar, Literal

from runners.stages.measurement_declarations import (
    AttentionStage,
    LatencyStage,
    PerplexityStage,
    RareWordsStage,
    WordEmbeddingsStage,
    ZeroCostStage,
)
from runners.stages.stage import StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.output_layer import OutputLayer
from steeplechase.configuration.fine_tuning import TaskTraining
from steeplechase.configuration.stage_label import LINEAR_PROBE, MINIMAL_PAIRS, UNTRAINED
from steeplechase.foundation.schema import Count, JsonValue, Seed
from steeplechase.tasks.corpora.corpus import Corpus
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.lexicon.supersenses import Lexicon
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.mentions.declaration import Mentions
from steeplechase.tasks.own_tasks import StageTask, task_named
from steeplechase.tasks.own_tasks.table import TableFiles
from steeplechase.tasks.tokenizer import TokenizerDeclaration

PRUNING_VERSION = 1
"""Of the code that prunes; part of the key of the stages that do."""


class CorpusStage(StageDeclaration):
    """Read the documents, remove duplicates, split them."""

    stage: ClassVar[str] = "corpus"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"corpus": "read"}
    corpus: Corpus
    read: JsonValue
    """Content hashes of the files of the corpus."""


class TokensStage(StageDeclaration):
    """Train or read the vocabulary and tokenize the splits. Reads `corpus`."""

    stage: ClassVar[str] = "tokens"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers",)
    hashed_instead: ClassVar[dict[str, str]] = {
        "tokenizer": "read",
        "lexicon": "lexicon_read",
        "mentions": "mentions_read",
    }
    tokenizer: TokenizerDeclaration
    read: JsonValue
    """The training settings of the vocabulary, or the content hash of its file."""
    vocabulary_size: Count
    sentences: bool = False
    """Whether the first token of every sentence is stored too, for objectives that read pairs of segments."""
    lexicon: Lexicon | None = None
    """The supersenses of words; those of the vocabulary's tokens are stored too."""
    lexicon_read: JsonValue = None
    """The content hash of the lexicon."""
    mentions: Mentions | None = None
    """Where entities are mentioned; the mentions' tokens and the entities' names are stored too."""
    mentions_read: JsonValue = None
    """The content hash of the mentions."""


class ExamplesStage(StageDeclaration):
    """Build and encode the examples of one downstream task.

    Reads `tokens` (vocabulary) and, for tasks built from documents, `corpus`.
    """

    stage: ClassVar[str] = "examples"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers", "scikit-learn")
    hashed_instead: ClassVar[dict[str, str]] = {
        "data": "read",
        "synonyms": "synonyms_read",
        "source_tokenizer": "source_tokenizer_read",
    }
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    """Maximum number of examples; None for all."""
    sequence_length: Count
    data: PublishedData | TableFiles | None = None
    read: JsonValue = None
    """The sha256 of each of the task's files, if it has files."""
    swap_pairs: bool = False
    """Whether the training pairs are also trained on with their texts swapped."""
    own_task: StageTask | None = None
    """The task, if the experiment declares it."""
    synonyms: Synonyms | None = None
    """The synonyms of words, for a rarified task."""
    synonyms_read: JsonValue = None
    """The content hash of the synonyms."""
    source_tokenizer: TokenizerDeclaration | None = None
    """What learns the vocabulary of sources from those of training; None: they have the vocabulary of `tokens`."""
    source_tokenizer_read: JsonValue = None
    """The training settings of that vocabulary, or the content hash of its file."""
    source_vocabulary_size: Count | None = None
    """Of that vocabulary."""

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)


class ContaminationStage(StageDeclaration):
    """Count the dev examples of a task that overlap with the pretraining text.

    Reads `corpus` and, for tasks built from documents, `documents`.
    """

    stage: ClassVar[str] = "contamination"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"data": "read"}
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    data: PublishedData | TableFiles | None
    read: JsonValue
    own_task: StageTask | None = None

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)


class EvaluationSetStage(StageDeclaration):
    """Build the held-out evaluation set; if its objective needs a generator, train that first. Reads `tokens`."""

    stage: ClassVar[str] = "evaluation_set"
    code_version: ClassVar[int] = 2
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    reference: Candidate
    """Its objective corrupts the inputs, its recipe is the baseline's; its architecture is the reference generator's,
    if there is one."""
    objective: str
    """The kind of objective that makes the set and whose loss is measured on it."""
    sequences: Count
    generator_tokens: int
    """Training tokens of the reference generator; 0 without a generator."""


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


class FineTuneStage(StageDeclaration, TaskTraining):
    """Fine-tune a pretrained encoder on one task with one seed. Reads `pretrained` and `examples`.

    With embeddings of rare words it reads `word_embeddings` too.

    Head, order of examples and dropout are drawn from both seeds: fine-tuning seeds are nested in pretraining seeds,
    and at one pair of seeds the draws of all arms are the same.
    """

    stage: ClassVar[str] = "fine_tune"
    code_version: ClassVar[int] = 3
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    hashed_at_default: ClassVar[tuple[str, ...]] = (
        *("epochs", "batch_examples", "peak_learning_rate", "warmup_share", "weight_decay", "dropout", "pooling"),
    )
    architecture: Architecture
    task: str
    pretraining_seed: Seed
    seed: Seed
    label_smoothing: float = 0.0
    """Of a task whose targets are texts: the recipe's, as its dropout is."""
    device: Literal["cpu", "cuda"] = "cpu"
    precision: Literal["float32", "bfloat16"] = "float32"
    own_task: StageTask | None = None
    output_layer: OutputLayer | None = None
    """The pretrained output layer, where the loss has a language model's; None: it has none."""

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)


class UntrainedStage(StageDeclaration):
    """Initialise a model and store its weights: the untrained reference, or an initial checkpoint as it is.

    Reads nothing; an encoder with supersense embeddings reads `tokens`.
    """

    stage: ClassVar[str] = UNTRAINED
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    hashed_instead: ClassVar[dict[str, str]] = {"init_checkpoint": "init_checkpoint_weights"}
    candidate: Candidate
    generator: Architecture | None
    seed: Seed
    init_checkpoint: str | None = None
    """Folder of the initial checkpoint of the encoder; None: random initialisation from the seed."""
    init_checkpoint_weights: str | None = None
    """The sha256 of those weights."""


class LinearProbeStage(StageDeclaration):
    """Fit a linear probe of word tags on each layer of a frozen encoder. Reads `pretrained` and `examples`."""

    stage: ClassVar[str] = LINEAR_PROBE
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    architecture: Architecture
    task: str
    device: Literal["cpu", "cuda"] = "cpu"

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return find_task(self.task)


class MinimalPairsStage(StageDeclaration):
    """Score minimal pairs with the pretrained model and its head. Reads `pretrained`, `examples` and `tokens`."""

    stage: ClassVar[str] = MINIMAL_PAIRS
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    candidate: Candidate
    generator: Architecture | None
    task: str

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return find_task(self.task)


TaskStage = FineTuneStage | LinearProbeStage | MinimalPairsStage
"""Stages whose result contains the scores of a downstream task."""


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
        UntrainedStage,
        ZeroCostStage,
        LinearProbeStage,
        MinimalPairsStage,
        AttentionStage,
        RareWordsStage,
        WordEmbeddingsStage,
        PerplexityStage,
        LatencyStage,
    )
}
"""Every kind of stage by name; the file of that name in this folder has its `compute`."""
