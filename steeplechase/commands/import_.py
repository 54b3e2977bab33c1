"""`steeplechase import`: a Hugging Face folder as an initial checkpoint, without importing transformers."""

from pathlib import Path
from typing import Annotated

import typer

from runners.flags import folder_named
from steeplechase.commands.arguments import NewFolder
from steeplechase.commands.huggingface.import_folder import import_folder
from steeplechase.foundation.atomic_files import refuse_existing

HuggingFaceFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="A checkpoint with config.json and model.safetensors.", parser=folder_named
    ),
]


def import_(
    folder: HuggingFaceFolder,
    out: NewFolder,
) -> None:
    """Import a BERT, RoBERTa, ALBERT, ELECTRA, ConvBERT, ModernBERT, GPT, XLNet, BART or Marian checkpoint.

    An experiment starts from it by `baseline: { init_checkpoint: OUT }`.
    """
    refuse_existing(out)
    import_folder(folder, out, str(out))
