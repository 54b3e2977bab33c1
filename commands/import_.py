"""`steeplechase import`: a Hugging Face folder as an initial checkpoint, without importing transformers."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from safetensors import SafetensorError

from commands.arguments import NewFolder, folder_named
from commands.huggingface.found_vocabulary import FoundVocabulary, read_json
from commands.huggingface.import_vocabulary import find_vocabulary
from configuration.initial_checkpoint import WEIGHTS, write_architecture, write_provenance
from foundation.atomic_files import atomic_directory, refuse_existing, sha256_of
from foundation.errors import DataError, MachineError
from models.huggingface import config
from search_space.architecture import Architecture

CONFIG, MODEL = "config.json", "model.safetensors"
SHARDED, PICKLES = f"{MODEL}.index.json", ("pytorch_model.bin", "pytorch_model.bin.index.json")

HuggingFaceFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="With config.json and model.safetensors.", parser=folder_named)
]


def import_(
    folder: HuggingFaceFolder,
    out: NewFolder,
) -> None:
    """Import a BERT, RoBERTa, ALBERT, ELECTRA, ConvBERT, GPT, XLNet, BART or Marian as an initial checkpoint.

    An experiment starts from it by `pretraining: { init_checkpoint: OUT }`.
    """
    refuse_existing(out)
    say([*(f"note: {note}" for note in write_checkpoint(folder, out)), f"imported: {out}"])


def write_checkpoint(folder: Path, out: Path) -> tuple[str, ...]:
    """Write a Hugging Face folder as an initial checkpoint and return notes for the user.

    Raises MachineError without the folder, DataError with every reason why it cannot be read.
    """
    if not folder.is_dir():
        raise MachineError(f"{folder}: no such folder")
    document, unreadable = read_json(folder / CONFIG)
    read = config.Reading(None, ()) if unreadable else config.read(document)
    vocabulary = find_vocabulary(folder, read.architecture.vocabulary_size if read.architecture else None)
    reasons = [*unreadable, *(f"{folder / CONFIG}: {reason}" for reason in read.reasons)]
    reasons += [*_missing_weights(folder), *vocabulary.reasons]
    if reasons or read.architecture is None:
        raise DataError(reasons)
    return tuple(_convert(folder, out, (str(document["model_type"]), read.architecture), vocabulary))


def say(lines: Iterable[str]) -> None:
    """Print lines to the error stream."""
    console = Console(stderr=True)
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _convert(folder: Path, out: Path, model: tuple[str, Architecture], vocabulary: FoundVocabulary) -> Iterator[str]:
    """Write the initial checkpoint and yield notes for the user."""
    from safetensors.torch import save_file  # imports torch, only now needed

    from commands.huggingface.import_weights import converted_weights, find_weights

    family, architecture = model
    found = find_weights(folder / MODEL, family)
    weights = converted_weights(folder / MODEL, found, architecture)
    with atomic_directory(out, (SafetensorError,)) as start:
        write_architecture(start, architecture)
        save_file(weights, start / WEIGHTS)
        if vocabulary.tokenizer is not None:
            vocabulary.tokenizer.save(start)
        sources = {name: sha256_of(folder / name) for name in (CONFIG, MODEL, *vocabulary.sources)}
        write_provenance(start, family, sources, found.left_out)
    if found.left_out:
        yield f"left out, not part of an encoder: {', '.join(found.left_out)}"
    if found.widened:
        yield "half-precision values were converted to float32, which is exact"
    if vocabulary.tokenizer is None:
        yield "the folder has no vocabulary: the model can be exported, but no experiment can start from it"


def _missing_weights(folder: Path) -> Iterator[str]:
    if (folder / MODEL).is_file():
        return
    convert = "AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)"
    pickle = next((name for name in PICKLES if (folder / name).exists()), None)
    if (folder / SHARDED).exists():
        yield f"{folder / SHARDED}: weights in several files are not read; join them with {convert}"
    elif pickle is not None:
        why = f"pickles are not read; if you trust the file, {convert} in transformers"
        yield f"{folder / pickle}: {why} writes {MODEL}"
    else:
        yield f"{folder / MODEL}: no such file"
