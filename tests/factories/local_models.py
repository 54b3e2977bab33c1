"""Models that the tests of `export` and `import` take: trained trials, stirred starts, and transformers' own."""

import json
import logging
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from runners.computing.execute import execute
from runners.dag import shared_stages
from runners.executors import TaskEnd
from runners.journal import Journal
from runners.opening import RunRequest, open_ledger
from runners.run import run_stages
from runners.stages.stage import Job
from runners.work_queue import StageTask
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import WEIGHTS, write_architecture, write_provenance
from steeplechase.foundation.locking import Holder
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.reuse import reuse
from steeplechase.ledger.reused_rows import reused_rows
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder import Encoder
from tests.factories.small_experiments import WORDS, stir

LARGEST_DIFFERENCE = 1e-5
FIRST_TOKEN = 1  # 0 is [PAD], which RoBERTa of transformers gives no position
SIZES: dict[str, Any] = {
    "depth": 2, "width": 32, "embedding_width": 16, "heads": 4, "feed_forward_width": 64, "positions": 24,
}  # fmt: skip
MIXED = {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic", "kernel_size": 5}}
RELEASED = {**MIXED, "convolution": {**MIXED["convolution"], "padding": "as_released"}}
ARMS = {
    "mixed": MIXED,
    "released": RELEASED,
    "narrow": {"bottleneck_ratio": 2},
    "wild": {"recipe.peak_learning_rate": 1e37},
}
LEXICON = ("Straße", "naïve", "the", "kernel", "slides", "over", "neighbours", "never", "padding", "中文")


def sized(**changes: Any) -> Architecture:
    """Return a small architecture over the words of the tests."""
    document = {**SIZES, "vocabulary_size": WORDS.vocabulary_size, **changes}
    return Architecture.model_validate_json(json.dumps(document))


ELECTRA, ELECTRA_AS_WIDE = sized(), sized(embedding_width=32)
GROUPED = sized(**MIXED, feed_forward_groups=2, segments=3)
LEAKING = sized(**RELEASED, embedding_width=32)
OFFSET = {"kind": "learned", "offset": 1}  # after [PAD], the first piece of a vocabulary
ROBERTA = sized(embedding_width=32, position=OFFSET, normalisation={"kind": "post_norm", "epsilon": 1e-5})
PRE_NORM = sized(embedding_width=32, position=OFFSET, normalisation={"kind": "pre_norm", "epsilon": 1e-5})
ALBERT = sized(sharing="all", feed_forward_activation="gelu_tanh")
GPT = sized(
    embedding_width=32,
    feed_forward_width=128,
    feed_forward_activation="gelu_tanh",
    segments=0,
    visibility="left_to_right",
    normalisation={"kind": "post_norm", "embedding": False, "epsilon": 1e-5},
)


XLNET = sized(
    positions=Architecture().positions,  # no table, and no key of config.json
    embedding_width=32,
    segments=0,
    visibility="permutation",
    attention_biases=False,
    position={"kind": "relative", "segment_encodings": True},
    normalisation={"kind": "post_norm", "embedding": False},
)


def stirred_start(folder: Path, architecture: Architecture, seed: int = 1) -> dict[str, Tensor]:
    """Write a start whose every weight is its own, none of them zero, and return the weights."""
    encoder = build_encoder(architecture, 0.1)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            parameter.fill_(float(name.endswith("norm.weight")))
    stir(encoder, seed)
    weights = {name: value.detach().clone() for name, value in encoder.named_parameters()}
    folder.mkdir()
    write_architecture(folder, architecture)
    save_file(weights, folder / WEIGHTS)
    WORDS.save(folder)
    family = "convbert" if isinstance(architecture.convolution, SpanDynamic) else "electra"
    write_provenance(folder, family, {}, ())
    return weights


def encoder_with(architecture: Architecture, weights: dict[str, Tensor]) -> Encoder:
    """Return our encoder with these weights, for reading."""
    encoder = build_encoder(architecture, 0.1).eval()
    assert {name for name, _ in encoder.named_parameters()} == weights.keys()
    encoder.load_state_dict(weights, strict=False)  # a tied table has two names in a state_dict, and one here
    return encoder


def batch(architecture: Architecture) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, segments and which of them are real, in rows of 17, 9 and 1 tokens."""
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(FIRST_TOKEN, architecture.vocabulary_size, (3, 17), generator=generator)
    segments = torch.randint(max(1, architecture.segments), (3, 17), generator=generator)
    return tokens, segments, torch.arange(17)[None] < torch.tensor([17, 9, 1])[:, None]


@torch.no_grad()
def differences(ours: Encoder, theirs: Any) -> tuple[float, float]:
    """Return the largest difference without padding, and at the real positions of a padded batch."""
    tokens, segments, real = batch(ours.architecture)
    given = {"input_ids": tokens} | ({"token_type_ids": segments} if ours.architecture.segments else {})
    whole = theirs(**given, attention_mask=torch.ones_like(tokens))[0]
    padded = theirs(**given, attention_mask=real.long())[0]
    without = (ours(tokens, segments) - whole).abs().max().item()
    return without, (ours(tokens, segments, real) - padded)[real].abs().max().item()


def transformers() -> Any:
    """Return the reference, quiet; the test is skipped where it is not installed."""
    library = pytest.importorskip("transformers", reason="the reference models are in the development extra")
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return library


def corpus(folder: Path) -> Path:
    """Write a hundred files of words in a drawn order and return their folder."""
    chance = random.Random(1)
    folder.mkdir()
    for number in range(150):
        words = [f"{chance.choice(LEXICON)}{chance.choice(['', 's', 'ed', 'ing'])}" for _ in range(60)]
        (folder / f"text {number}.txt").write_text(" ".join(words) + "\n")
    return folder


def experiment(folder: Path, objective: str, **parts: Any) -> Experiment:
    """Return a table of an attention-only baseline and two mixed arms that learns for a few steps."""
    texts = folder / "texts"
    document: dict[str, JsonValue] = {
        "experiment": "exported",
        "question": "Is it the same model elsewhere?",
        "baseline": {
            "architecture": {**SIZES, "vocabulary_size": 200},
            "objective": {"kind": objective},
            "recipe": {
                "sequence_length": 16, "batch_sequences": 4, "peak_learning_rate": 5e-3,
                "schedule": {"kind": "constant", "warmup_tokens": 64},
            },
        },
        "design": {"kind": "list", "arms": ARMS},
        "corpus": {"kind": "text_files", "path": str(texts if texts.is_dir() else corpus(texts))},
        "pretraining": {
            "tokens": 512, "seeds": [1], "held_out_sequences": 4, "evaluations": 1, "reference_generator_tokens": 64,
        },
        **parts,
    }  # fmt: skip
    return Experiment.model_validate_json(json.dumps(document))


def run(wanted: Experiment, folder: Path, lenders: Sequence[Path] = ()) -> Path:
    """Compute every stage in this process that no lender has, and return the results folder."""
    places = ResultPaths.of(folder)
    with open_ledger(RunRequest(wanted, "whole", places)) as ledger:
        reuse(ledger, folder, lenders)
        store = ArtifactStore(places.stages)
        journal = Journal(wanted, shared_stages(wanted), store, ledger, reused_rows(folder, ledger))
        run_stages(journal, InThisProcess(store))
    return folder


class InThisProcess:
    """Computes one task after another where it is asked."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store, self._task = store, list[StageTask]()

    def __enter__(self) -> "InThisProcess":
        return self

    def __exit__(self, *raised: object) -> None:
        """End nothing."""

    def accepts(self, task: StageTask) -> bool:
        return not self._task

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        self._task.append(task)

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        return False

    def finished(self) -> list[TaskEnd]:
        task = self._task.pop()
        return [(task, execute(Job.of(task.stage, str(self._store.root))))]
