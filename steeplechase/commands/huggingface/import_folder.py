"""Makes an initial checkpoint of a Hugging Face folder: architecture, weights, vocabulary; without transformers."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from safetensors import SafetensorError

from search_space.architecture import Architecture
from steeplechase.commands.huggingface.found_vocabulary import FoundVocabulary, read_json
from steeplechase.commands.huggingface.import_vocabulary import find_vocabulary
from steeplechase.configuration.initial_checkpoint import WEIGHTS, write_architecture, write_provenance
from steeplechase.foundation.atomic_files import atomic_directory, sha256_of
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.models.huggingface import config

CONFIG, MODEL = "config.json", "model.safetensors"
SHARDED, PICKLES = f"{MODEL}.index.json", ("pytorch_model.bin", "pytorch_model.bin.index.json")


def import_folder(folder: Path, out: Path, title: str) -> None:
    """Write the initial checkpoint; notes for the user and the title go to the error stream.

    Raises MachineError without the folder, DataError with every reason why it cannot be read.
    """
    notes = _write_checkpoint(folder, out)
    console = Console(stderr=True)
    for line in [*(f"note: {note}" for note in notes), f"imported: {title}"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _write_checkpoint(folder: Path, out: Path) -> tuple[str, ...]:
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


def _convert(folder: Path, out: Path, model: tuple[str, Architecture], vocabulary: FoundVocabulary) -> Iterator[str]:
    """Write the initial checkpoint and yield notes for the user."""
    from safetensors.torch import save_file  # imports torch, only now needed

    from steeplechase.commands.huggingface.import_weights import converted_weights, find_weights

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
