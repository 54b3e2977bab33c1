"""A plugin that is loaded for the length of a test, and copies of the example to change."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from search_space.convolution.option import ConvolutionOption
from steeplechase.configuration.plugins import Plugin, load_plugin, loaded_plugins, unload_plugin
from steeplechase.foundation.schema import options_of
from tests.factories.paths import ROOT

EXAMPLE = ROOT / "examples" / "gated_convolution"
KIND = "gated_dilated"
OPTION, MODULE = f"search_space/convolution/{KIND}.py", f"models/convolution/{KIND}.py"

RECURRENT_MODULE = '''"""A gated recurrent network, without named token embeddings."""

import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, words, width, layers, directions):
        super().__init__()
        self.words = nn.Embedding(words, width)
        both = len(directions) == 2
        self.gru = nn.GRU(width, width // len(directions), layers, batch_first=True, bidirectional=both)

    def forward(self, tokens, padding_mask):
        x = self.words(tokens)
        if padding_mask is not None:
            lengths = padding_mask.sum(1).cpu()
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            x, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True, total_length=tokens.shape[1])
            return x
        return self.gru(x)[0]


def build(words, width, layers=1, directions=("forward",)):
    return Recurrent(words, width, layers, directions)


def broken(**_):
    raise RuntimeError("no memory\\nand more")


def text(**_):
    return "a module"


def leaves(**_):
    raise SystemExit(3)


def changed(forward):
    class Changed(Recurrent):
        pass

    Changed.forward = lambda self, tokens, mask: forward(Recurrent.forward(self, tokens, mask), tokens)
    return lambda words, width, directions: Changed(words, width, 1, directions)


def pair(**arguments):
    return changed(lambda x, tokens: (x, None))(**arguments)


def fewer(**arguments):
    return changed(lambda x, tokens: x[:, 1:])(**arguments)


def double(**arguments):
    return changed(lambda x, tokens: x.double())(**arguments)


def writes(**arguments):
    return changed(lambda x, tokens: x + 0 * tokens.add_(1)[..., None])(**arguments)


def short(x, tokens):
    if tokens.shape[1] > 8:
        raise IndexError(f"{tokens.shape[1]} tokens, 8 positions")
    return x


def eight(**arguments):
    return changed(short)(**arguments)


def lazy(words, width, directions):
    module = Recurrent(words, width, 1, directions)
    module.gru = nn.LazyLinear(width)
    return module
'''


@contextmanager
def no_plugins_left() -> Iterator[None]:
    """Unload whatever is loaded inside."""
    before = loaded_plugins()
    try:
        yield
    finally:
        for plugin in loaded_plugins():
            if plugin not in before:
                unload_plugin(plugin)


@contextmanager
def loaded(folder: Path) -> Iterator[Plugin]:
    """Load a plugin until the block ends."""
    with no_plugins_left():
        yield load_plugin(folder)


def copy_of_example(folder: Path) -> Path:
    """Return a copy of the example, to be changed."""
    return copy_of(EXAMPLE, folder)


def copy_of(example: Path, folder: Path) -> Path:
    """Return a copy of the folder of a plugin, to be changed."""
    return Path(shutil.copytree(example, folder, ignore=shutil.ignore_patterns("__pycache__")))


def replaced(folder: Path, right: str, wrong: str) -> int:
    """Replace a text in every file of a plugin; return how often it was found."""
    found = 0
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        found += text.count(right)
        file.write_text(text.replace(right, wrong), encoding="utf-8")
    return found


def kinds() -> set[str]:
    """Return the kinds of convolutions that are known now."""
    return {option.model_fields["kind"].default for option in options_of(ConvolutionOption)}
