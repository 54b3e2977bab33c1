"""`steeplechase new NAME --like FOLDER`: a part of one's own in a plugin, from an example under another name."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from steeplechase.configuration.yaml.experiment_files import INSTALLED, experiment_file, experiment_files
from steeplechase.configuration.yaml.text import read_text
from steeplechase.foundation.atomic_files import atomic_directory
from steeplechase.foundation.errors import ConfigurationError, closest
from steeplechase.foundation.option_modules import TREE

EXAMPLES = INSTALLED.parent / "examples"
"""The folder of the examples, in a clone of the repository."""
EXPERIMENT, EXPLANATION = "experiment.yaml", "README.md"
PART_NAME = r"[a-z][a-z0-9_]{1,63}"
PART_RULE = "a part's name has 2 to 64 small letters, digits or underscores and starts with a letter"


def example_folder(path: Path) -> Path | None:
    """Return the folder of a plugin, or of the example NAME for `NAME` and `examples/NAME`; None of an experiment.

    Raises ConfigurationError if an example is meant, and there is none of this name.
    """
    of_examples = path.parts[:1] == (EXAMPLES.name,)
    if path.is_dir() or len(path.parts) != 1 + of_examples or experiment_file(path).exists():
        return path if path.is_dir() else None
    examples = {file.parent.name: file.parent for file in sorted(EXAMPLES.glob(f"*/{EXPERIMENT}"))}
    if of_examples and not examples:
        raise ConfigurationError(f"{path}: no such folder; the examples are in the repository, not in the package")
    known = [*examples, *(() if of_examples else (Path(name).name for name in experiment_files()))]
    close = closest(path.name, known)
    if close in examples and close != path.name:
        raise ConfigurationError(f"{path}: no such experiment or example. Did you mean examples/{close}?")
    if of_examples and close is None:
        raise ConfigurationError(f"{path}: no such example; there are {', '.join(examples)}")
    return examples.get(path.name)


def copy_part(example: Path, target: Path, opening: str) -> None:
    """Write a plugin's one part, its experiment after an opening line, and its explanation, under the target's name.

    Raises ConfigurationError if the name is none of a part, or the example has no module, several parts or no
    experiment; ConflictError if the target exists; MachineError if a file cannot be read or written.
    """
    if not re.fullmatch(PART_NAME, target.name):
        raise ConfigurationError(f"{target.name!r}: {PART_RULE}")
    modules = [file for folder in TREE for file in sorted((example / folder).rglob("*.py"))]
    parts = sorted({file.stem for file in modules})
    if len(parts) != 1 or not (example / EXPERIMENT).is_file():
        found = ", ".join(f"{part}.py" for part in parts) or "no module"
        raise ConfigurationError(
            f"{example}: has {found}; a part is copied with the modules of its name and {EXPERIMENT}"
        )
    with atomic_directory(target) as temporary:
        for module in modules:
            file = temporary / module.relative_to(example).with_stem(target.name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(renamed_code(read_text(module), parts[0], target.name), encoding="utf-8")
        for name, before in ((EXPERIMENT, opening), (EXPLANATION, "")):
            if (example / name).is_file():
                text = read_text(example / name).replace(f"examples/{example.name}", str(target))
                written = before + renamed_words(text, parts[0], target.name)
                (temporary / name).write_text(written, encoding="utf-8")


def renamed_words(text: str, part: str, name: str) -> str:
    """Return an experiment or its explanation under another name, with another name of a part where it is no key."""
    kept = (line for line in text.splitlines(keepends=True) if not line.startswith("# yaml-language-server"))
    return "".join(
        f"experiment: {name}\n"
        if line.startswith("experiment:")
        else line
        if line.startswith("question:")
        else re.sub(rf"\b{part}\b(?=\.py|:\w|[\s`,}}\]]|$)", name, line)
        for line in kept
    )


def renamed_code(text: str, part: str, name: str) -> str:
    """Return Python with another name of a part: its kind, its modules where they are imported, and its classes."""
    lines = text.splitlines(keepends=True)
    for (row, start), old, new in reversed([*_renamings(text, part, name)]):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + new + line[start + len(old) :]
    return "".join(lines)


def _renamings(text: str, part: str, name: str) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Yield the row and column, the old and the new text of every token that is renamed, in their order."""
    classes, named = (each.title().replace("_", "") for each in (part, name))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.string.strip("\"'") == part:
            yield token.start, token.string, token.string.replace(part, name)
        elif token.type == tokenize.NAME and re.match(rf"{classes}(?![a-z0-9_])", token.string):
            yield token.start, token.string, token.string.replace(classes, named, 1)
        elif token.type == tokenize.NAME and token.string == part and token.line.startswith(("from ", "import ")):
            yield token.start, token.string, name
