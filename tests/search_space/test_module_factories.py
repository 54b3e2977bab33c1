"""Factories: which ones a file may name, those that never end, and the source that is their identity."""

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search_space import module_counts
from search_space.module_architecture import ModuleArchitecture
from search_space.module_counts import ModuleFault
from search_space.module_factories import RefusedFactory, allow_packages, factory_of, refusal, source_hash
from steeplechase.commands import check
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.child_process import module_command
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.plugins import loaded, no_plugins_left

HOSTILE = """
import functools
import os
from os import system
from subprocess import Popen, getoutput as borrowed

shell = os.system
partial = functools.partial(os.system)
anonymous = lambda **arguments: os.system(**arguments)
Popen.__module__ = __name__


class Lying:
    pass


Lying.__module__ = "os"


def replaced(**arguments):
    return None


replaced = os.system


def shadowed(**arguments):
    return None


from subprocess import getoutput as shadowed
"""
OUTSIDE = (
    *("os:system", "subprocess:getoutput", "runpy:run_path", "builtins:eval", "importlib:import_module"),
    *("posix:system", "__main__:main", "torch.hub:load", "torch:load", "numpy:load", "ctypes:CDLL", "pickle:loads"),
    *(
        "steeplechase.models.encoder:Encoder",
        "steeplechase.foundation.atomic_files:write_whole",
        "tests.factories.paths:build",
    ),
)
ASSIGNED = ("system", "borrowed", "Popen", "shell", "partial", "anonymous", "os")
REDEFINED = ("Lying", "replaced", "shadowed")
OF_PYTHON = {*sys.stdlib_module_names, *sys.builtin_module_names, "__main__"}
MALFORMED = (
    *("os.system", "os:path.join", "os:system ", " os:system", "os :system", "os: system", "os:system\n", "os:"),
    *(":system", "os:sys-tem", "../evil:build", "/tmp/evil.py:build", "os::system", "os:system:load"),
)
LENT = """
from os import system


class Model:
    pass


if True:

    def build():
        return Model()
"""
SIZES: dict[str, Any] = {"vocabulary_size": 40, "positions": 32, "width": 16}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    with no_plugins_left():
        yield
    allow_packages(())


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[str]:
    """Yield the module of a plugin whose names lead elsewhere."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "borrowing.py").write_text(HOSTILE, encoding="utf-8")
    with loaded(tmp_path):
        yield "models.borrowing"


def problems(factory: str, canary: Path) -> list[str]:
    arguments = {"command": f"touch {canary}", "path_name": str(canary)}
    built = ModuleArchitecture.model_validate({"factory": factory, "arguments": arguments, **SIZES})
    return [violation.message for violation in built.violations()]


@pytest.mark.parametrize("factory", OUTSIDE)
def test_a_factory_outside_plugins_is_refused_and_nothing_is_imported(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[str] = []
    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lambda name, *rest: imported.append(name) or real(name, *rest))
    monkeypatch.setattr("search_space.module_factories.import_module", imported.append)
    (message,) = problems(factory, tmp_path / "canary")
    assert message.startswith(f"{factory}: {factory.partition(':')[0]} is ")
    assert "\n" not in message
    assert ("is of the standard library" in message) == (factory.partition(".")[0].partition(":")[0] in OF_PYTHON)
    assert not [name for name in imported if name.partition(".")[0] == factory.partition(":")[0].partition(".")[0]]
    assert not (tmp_path / "canary").exists()
    with pytest.raises(RefusedFactory):
        factory_of(factory)


@pytest.mark.parametrize("name", ASSIGNED)
def test_what_a_plugin_imports_or_assigns_is_no_factory(hostile: str, name: str, tmp_path: Path) -> None:
    (message,) = problems(f"{hostile}:{name}", tmp_path / "canary")
    assert message.endswith(f"has no `def {name}` or `class {name}`; an imported or assigned name is no factory")
    assert hostile not in sys.modules
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("name", REDEFINED)
def test_a_definition_that_is_replaced_is_not_called(hostile: str, name: str) -> None:
    assert refusal(f"{hostile}:{name}") is None
    with pytest.raises(RefusedFactory, match="not a function or a class that"):
        factory_of(f"{hostile}:{name}")


@pytest.mark.parametrize("factory", MALFORMED)
def test_a_factory_is_a_module_and_a_name(factory: str) -> None:
    with pytest.raises(ValueError, match="factory"):
        ModuleArchitecture.model_validate({"factory": factory, **SIZES})


def test_a_named_package_is_allowed_with_what_is_below_it_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("lent_package", "lent_package_too"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "model.py").write_text(LENT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert "is not allowed" in str(refusal("lent_package.model:build"))
    allow_packages(["lent_package"])
    assert {factory_of(f"lent_package.model:{name}").__name__ for name in ("build", "Model")} == {"build", "Model"}
    assert "lent_package_too.model is not allowed" in str(refusal("lent_package_too.model:build"))
    assert "has no `def system`" in str(refusal("lent_package.model:system"))
    assert "no such module" in str(refusal("lent_package.nowhere:build"))
    allow_packages(())
    assert refusal("lent_package.model:build") is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os", "standard library"),
        ("os.path", "standard library"),
        ("my-package", "not the name"),
        ("", "not the name"),
    ],
)
def test_a_name_that_is_no_package_or_the_standard_librarys_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        allow_packages([name])


SLEEPS = (sys.executable, "-S", "-c", "import time; time.sleep(600)")


def _sleeping(module: str, *_: str) -> list[str]:
    assert module_command(module)
    return [*SLEEPS]


def test_a_factory_that_never_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_counts, "_CHILD", [])
    monkeypatch.setattr(module_counts, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(module_counts, "module_command", _sleeping)
    with pytest.raises(ModuleFault, match=r"own:make: not built and counted in 0\.2 s; its code may not end"):
        module_counts._asked({"factory": "own:make", "architecture": "{}", "length": 8})


def test_a_contract_that_never_ends_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(check, "module_command", _sleeping)
    (outcome,) = check.measured_apart(tmp_path)
    assert (outcome.contract, outcome.problem) == (
        "each contract ends in time",
        "had not ended after 0.2 s; the rest is not measured",
    )


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
