"""The documentation corpus is identified by content; no file is skipped because of disk errors."""

import subprocess
import sys
import sysconfig
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from steeplechase.foundation.errors import MachineError
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.corpora.installed_modules import runtime_closure, version_of
from steeplechase.tasks.progress import silent
from tests.factories.paths import ROOT

PROSE = "This function is for the {} of a thing, and it can be used by all who want to do that with it."
NAMES = (f"installed-{number}" for number in count())  # metadata is read once per name and process
NO_FILES_LEFT = """
import resource
from steeplechase.foundation.errors import MachineError
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
DocumentationCorpus(distributions=("packaging",)).inputs()  # imports what it needs
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    {}
except MachineError as refused:
    print(refused)
"""


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a standard library with one module."""
    folder = tmp_path / "stdlib"
    folder.mkdir()
    (folder / "core.py").write_text(f'"""{PROSE.format("counting")}"""\n')
    asked = sysconfig.get_path
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder) if name == "stdlib" else asked(name))
    return folder


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], recorded: bool = True) -> str:
    """Install a distribution of these files where Python finds it, with a RECORD of their hashes; return its name."""
    name = next(NAMES)
    information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for file, content in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(content)
        digest = urlsafe_b64encode(sha256(content.encode()).digest()).decode().rstrip("=")
        lines.append(f"{file},{f'sha256={digest}' if recorded else ''},{len(content)}\n")
    (information / "RECORD").write_text("".join(lines))
    monkeypatch.syspath_prepend(str(folder))
    return name


def corpus_of(name: str) -> DocumentationCorpus:
    return DocumentationCorpus(distributions=(name,))


def read(corpus: DocumentationCorpus) -> tuple[set[str], int]:
    """Return the sources that were read and how many files were left out."""
    documents, sources = corpus.documents(silent), set()
    while True:
        try:
            sources.add(next(documents).source)
        except StopIteration as end:
            return sources, end.value


def modules(*names: str) -> dict[str, str]:
    return {f"package/{name}.py": f'"""{PROSE.format(name)}"""\n' for name in names}


def contents(corpus: DocumentationCorpus) -> object:
    """Return the corpus's identity without the name of its one distribution, which differs from test to test."""
    document = corpus.inputs()
    assert isinstance(document, dict)
    ((_, *rest),) = document["distributions"]  # type: ignore[misc]
    return {**document, "distributions": rest}


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize("recorded", [True, False])
def test_the_identity_depends_on_content_and_not_on_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    files = modules("one", "two")
    here, there = (corpus_of(install(tmp_path / place, monkeypatch, files, recorded)) for place in ("a", "b"))
    assert contents(here) == contents(there)
    for number, other in enumerate((modules("one"), modules("one", "two", "three"), {**files, "package/one.py": ""})):
        assert contents(corpus_of(install(tmp_path / str(number), monkeypatch, other, recorded))) != contents(here)


def test_a_change_of_the_standard_library_is_another_corpus(
    python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(install(tmp_path / "a", monkeypatch, modules("one")))
    before = corpus.inputs()
    (python / "core.py").write_text(f'"""{PROSE.format("weighing")}"""\n')
    assert corpus.inputs() != before


def _replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _emptied(path: Path) -> None:
    path.write_text("")


FAULTS: dict[str, Callable[[Path], None]] = {
    "missing": Path.unlink,
    "a fault of the disk": _replaced_by_a_folder,
    "edited": _emptied,
}


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_modified_file_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    corpus = corpus_of(install(tmp_path / "a", monkeypatch, modules("one", "two")))
    assert read(corpus) == ({"core", "package.one", "package.two"}, 0)
    FAULTS[fault](tmp_path / "a" / "package" / "two.py")
    with pytest.raises(MachineError, match=r"package/two\.py.*installed-\d+ 1\.0") as refused:
        read(corpus)
    assert len(refused.value.lines) == 1


@pytest.mark.usefixtures("python")
def test_an_unparsable_file_is_skipped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = modules("one") | {"package/template.py": "class {{ name }}:\n", "package/binary.py": "x = '\x00'\n"}
    assert read(corpus_of(install(tmp_path / "a", monkeypatch, files))) == ({"core", "package.one"}, 2)


@pytest.mark.parametrize(
    "work", ["DocumentationCorpus().inputs()", "list(DocumentationCorpus().documents(lambda *_: None))"]
)
def test_unreadable_files_end_the_run_with_one_line(work: str) -> None:
    command = [sys.executable, "-c", NO_FILES_LEFT.format(work)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "Too many open files" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1


def test_the_closure_agrees_with_importlib_on_versions_and_requirements() -> None:
    closure = runtime_closure(None)
    for name, distribution in closure.items():
        assert version_of(distribution) == distribution.version, name
        for requirement in map(Requirement, distribution.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                assert canonicalize_name(requirement.name) in closure, (name, str(requirement))
