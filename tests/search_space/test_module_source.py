"""The source of a factory outside plugins: its file and what it imports from the user's folder."""

import sys
from pathlib import Path

import pytest

from search_space.module_factories import source_hash
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import ConfigurationError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that is on the path, as an editable installation puts it."""
    files = {
        "rewired/__init__.py": "",
        "rewired/model.py": "import torch\nfrom . import layers\nfrom rewired.sizes import WIDTH\n",
        "rewired/layers.py": "import rewired_shared.kernels\n",
        "rewired/sizes.py": "WIDTH = 3\n",
        "rewired/unused.py": "ONE = 1\n",
        "rewired_shared/__init__.py": "",
        "rewired_shared/kernels.py": "from rewired import model\n",
        "rewired_alone.py": "import torch\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "is_used"),
    [
        ("rewired/model.py", True),
        ("rewired/layers.py", True),
        ("rewired/sizes.py", True),
        ("rewired/__init__.py", True),
        ("rewired_shared/kernels.py", True),
        ("rewired/unused.py", False),
        ("rewired_alone.py", False),
    ],
)
def test_an_edit_changes_the_hash_where_the_factory_imports_the_file(package: Path, file: str, is_used: bool) -> None:
    before = source_hash("rewired.model")
    with (package / file).open("a", encoding="utf-8") as out:
        out.write("# edited\n")
    assert (source_hash("rewired.model") != before) == is_used
    assert not {"rewired", "rewired_shared"} & sys.modules.keys(), "imported"


def test_a_single_file_and_an_installed_module_have_the_hash_of_their_file(package: Path) -> None:
    assert source_hash("rewired_alone") == sha256_of(package / "rewired_alone.py")
    import json.decoder

    assert source_hash("json.decoder") == sha256_of(Path(json.decoder.__file__))


def test_a_file_that_is_not_python_ends_the_search_there(package: Path) -> None:
    (package / "rewired/layers.py").write_text("print 'old'\n", encoding="utf-8")
    assert source_hash("rewired.model") != sha256_of(package / "rewired/model.py")


def test_a_module_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"rewired_nowhere\.model: no such module"):
        source_hash("rewired_nowhere.model")
