"""Wrong plugins: each is refused with its line in the experiment, and leaves nothing."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.plugins import loaded_plugins
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.plugins import EXAMPLE, KIND, MODULE, OPTION, copy_of_example, kinds, no_plugins_left, replaced


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    with no_plugins_left():
        yield copy_of_example(tmp_path / "copy")


NOT_IMPORTED = {
    "import": '"""A file."""\n\nimport nothing_of_this_name\n',
    "exit": '"""A file."""\n\nraise SystemExit(0)\n',
    "syntax": "class A(:\n",
}


BESIDE = Path("models", "convolution")
CHANGES: dict[str, Callable[[Path], object]] = {
    "module with NUL": lambda folder: (folder / MODULE).write_bytes(b"\0x = 1\n"),
    "module's syntax": lambda folder: (folder / MODULE).write_bytes(b"x = 1\ndef (:\n"),
    "module in Latin-1": lambda folder: (folder / MODULE).write_bytes(b"'\xe9'\n"),
    "pipe": lambda folder: os.mkfifo(folder / BESIDE / "_pipe.py"),
    "link to nowhere": lambda folder: (folder / BESIDE / "_nowhere.py").symlink_to("/nowhere"),
    "folder": lambda folder: (folder / BESIDE / "_folder.py").mkdir(),
    "scripts": lambda folder: [
        (folder / "models/x").mkdir(),
        *((folder / f"models/x/script{number}.py").touch() for number in range(100)),
    ],
    "no kind": lambda folder: replaced(folder, f'kind: Literal["{KIND}"] = "{KIND}"', ""),
    "no method": lambda folder: replaced(folder, "def parameters", "def parametres"),
    "no branch": lambda folder: replaced(folder, "class Branch", "class Brunch"),
    "list": lambda folder: replaced(folder, "dilation: Count = 2", "dilation: list[int] = [2]"),
    "no default": lambda folder: replaced(folder, f'kind: Literal["{KIND}"] = "{KIND}"', f'kind: Literal["{KIND}"]'),
}


def wrong(folder: Path, how: str) -> Path:
    """Return the folder after one mistake."""
    if how == "missing":
        return folder / "nowhere"
    if how == "no module":
        (folder / MODULE).unlink()
    elif how == "built-in":
        (folder / MODULE).rename(folder / "models" / "convolution" / "dynamic.py")
        (folder / OPTION).rename(folder / "search_space" / "convolution" / "dynamic.py")
    elif how == "outside":
        (folder / "models" / "mine").mkdir()
        (folder / "models" / "mine" / "mine.py").write_text("", encoding="utf-8")
    elif how == "other kind":
        replaced(folder, f'"{KIND}"', '"gated"')
    elif how in NOT_IMPORTED:
        (folder / OPTION).write_text(NOT_IMPORTED[how], encoding="utf-8")
    elif how in CHANGES:
        CHANGES[how](folder)
    elif how == "empty":
        for file in folder.rglob("*.py"):
            file.unlink()
    return folder


REFUSED = {
    "missing": ["nowhere: no such folder; a plugin mirrors folders of search_space/, models/, tasks/, runners/"],
    "no module": [f"{OPTION}: an option without its module; ", f"{MODULE} is needed"],
    "built-in": ["convolution/dynamic.py: the name of a built-in file; choose another"],
    "outside": ["models/mine/mine.py: outside the mirrored tree; a plugin mirrors folders of"],
    "other kind": [f"{OPTION}: GatedDilated: its kind is 'gated'; the file is named {KIND}"],
    "import": [f"{OPTION}:3: cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"],
    "exit": [f"{OPTION}:3: cannot be imported: SystemExit: 0"],
    "syntax": [f"{OPTION}:1: cannot be imported: SyntaxError: "],
    "empty": ["no Python file in it is of a plugin; a plugin mirrors"],
    "module with NUL": [f"{MODULE}:1: cannot be imported: SyntaxError: source code string cannot contain null bytes"],
    "module's syntax": [f"{MODULE}:2: cannot be imported: SyntaxError: invalid syntax"],
    "module in Latin-1": [f"{MODULE}:1: cannot be imported: SyntaxError: (unicode error) 'utf-8' codec can't decode"],
    "pipe": ["models/convolution/_pipe.py: not a file; a plugin's files are Python files"],
    "link to nowhere": ["models/convolution/_nowhere.py: not a file; a plugin's files are Python files"],
    "folder": ["models/convolution/_folder.py: not a file; a plugin's files are Python files"],
    "scripts": ["models/x/script0.py: outside the mirrored tree", ": 80 more such files"],
    "no kind": [f"{OPTION}:15: GatedDilated has no kind, so nothing can choose it; write kind: Literal[", KIND],
    "no method": [f"{OPTION}:15: GatedDilated lacks parameters; its parametres is not parameters"],
    "no branch": [f"{MODULE}: it has no Branch, which builds the option. Did you mean 'Brunch'?"],
    "list": [f"{OPTION}:15: GatedDilated: dilation holds a list, which can change; write tuple[int, ...]"],
    "no default": [f'{OPTION}: GatedDilated: kind has no default; write kind: Literal["{KIND}"] = "{KIND}"'],
}


def test_a_folder_may_hold_other_files(copy: Path) -> None:
    before = load_experiment(copy / "experiment.yaml", "smoke").plugins
    for name in ("make_data.py", "scripts/run.py", ".venv/lib/models/x.py", "notebooks/models/y.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("1 / 0\n", encoding="utf-8")
    assert load_experiment(copy / "experiment.yaml", "smoke").plugins == before


@pytest.mark.parametrize("how", REFUSED)
def test_a_wrong_plugin_is_refused_with_its_line_in_the_experiment_and_leaves_nothing(copy: Path, how: str) -> None:
    before = kinds()
    folder = wrong(copy, how)
    file = copy / "experiment.yaml"
    text = (EXAMPLE / "experiment.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("plugins: [.]", f"plugins: [{folder}]"), encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(file, "smoke")
    line = 1 + text.splitlines().index(next(each for each in text.splitlines() if each.startswith("plugins:")))
    for each in refused.value.lines:
        assert each.startswith(f"{file}:{line}: plugins[0]: ")
    for part in REFUSED[how]:
        assert any(part in each for each in refused.value.lines), refused.value.lines
    assert (loaded_plugins(), kinds()) == ((), before)
