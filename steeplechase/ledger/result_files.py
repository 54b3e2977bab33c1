"""Names of the files and keys under which stage results keep predictions and scores."""

from pathlib import Path

HELD_OUT_LOSSES = "held_out_losses.npy"
"""The file that keeps the loss of every held-out prediction at the end of a stage of pretraining."""

CHECKPOINT = "checkpoint"
"""The folder in which stages keep the weights of a model."""

RARE_WORDS = "rare_words.json"
"""The file in which the examples of a rarified task keep their rare words, in the order of their tokens."""

SOURCE_TOKENIZER = "source_tokenizer"
"""The folder in which encoded examples keep the tokenizer of their sources, where targets have another."""


def predictions_file(part: str) -> str:
    """Return the name of the file that keeps what was predicted for a part."""
    return "predictions.json" if part == "dev" else f"predictions.{part}.json"


def example_scores_file(part: str) -> str:
    """Return the name of the file that keeps the score of every example of a part."""
    return "example_scores.npy" if part == "dev" else f"example_scores.{part}.npy"


def scores_name(part: str) -> str:
    """Return the key under which a record keeps a part's scores."""
    return "scores" if part == "dev" else f"scores {part}"


def other_parts(folder: Path) -> tuple[str, ...]:
    """Return the parts of encoded examples beside train and dev, sorted."""
    others = ("train", "dev", SOURCE_TOKENIZER)
    parts = (path.name for path in folder.iterdir() if path.is_dir())
    return tuple(sorted(part for part in parts if part not in others))


def layers_file(part: str) -> str:
    """Return the name of the file that keeps what a linear probe of each layer predicted for a part."""
    return predictions_file(part).replace("predictions", "layers", 1)
