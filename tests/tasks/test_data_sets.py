"""The registry of data sets, and verification and download of local copies."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from steeplechase.foundation.errors import ConflictError, DataError, MachineError
from steeplechase.tasks.data_folder import VARIABLE, data_folder
from steeplechase.tasks.data_sets.local_copies import MANIFEST, State, fetch, find, refuse_unfetchable
from steeplechase.tasks.data_sets.registry import DataSet, HubSource, RegisteredFile, data_sets
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task, task_names
from tests.factories.glue_folders import write_table
from tests.factories.hub_columns import NAMES, columns_of, read_file
from tests.factories.published_data import ROOT, published
from tests.factories.task_files import files_of

Tables = Mapping[tuple[str, str, str], Any]


def serve(monkeypatch: pytest.MonkeyPatch, tables: Tables, revision: str) -> list[str]:
    """Let the library find these tables at one revision, and local files as ever; return a growing list of splits."""
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    asked: list[str] = []

    def load_dataset(name: str, configuration: str = "", *, revision: str = "", split: str, **local: Any) -> Any:
        if local:
            return read_local(name, split=split, **local)
        asked.append(f"{name}@{revision} {configuration}/{split}")
        if revision != known or (name, configuration, split) not in tables:
            raise datasets.exceptions.DatasetNotFoundError(f"Dataset {name!r} doesn't exist on the Hub")
        return tables[name, configuration, split]

    known, read_local = revision, datasets.load_dataset
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked


COMMIT = "0123456789abcdef0123456789abcdef01234567"
EVERY = pytest.mark.parametrize("name", data_sets())


@EVERY
def test_every_entry_has_its_source_and_files(name: str) -> None:
    data_set = data_sets()[name]
    assert data_set.title
    assert data_set.source
    assert data_set.licence is None or data_set.licence.strip()
    assert data_set.size == sum(file.bytes for file in data_set.files) > 0
    for digest in (data_set.sha256, *(file.sha256 for file in data_set.files)):
        assert re.fullmatch("[0-9a-f]{64}", digest)
    for file in data_set.files:
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts


def test_no_file_is_in_two_sets_and_no_two_are_fetched_into_one_folder() -> None:
    paths = [file.path for each in data_sets().values() for file in each.files]
    assert len(paths) == len({*paths})
    fetched = [each.hub.configuration for each in data_sets().values() if each.hub is not None]
    assert len(fetched) == len({*fetched})


@EVERY
def test_the_registered_hashes_are_those_of_the_data(name: str) -> None:
    finding = find(data_sets()[name], ROOT / data_folder())
    if finding.state is State.ABSENT:
        pytest.skip(f"{name} is not in {data_folder()}")
    assert finding.faults == ()


UNREGISTERED = {"swag", "xsum", "cnn_dailymail", "gigaword", "cornell_responses"}
"""Tasks of which no whole copy of the official files has been measured."""


def test_every_task_of_files_is_registered_with_the_splits_that_it_reads() -> None:
    tasks = {name: files for name in task_names() if (files := find_task(name).files) is not None}
    registered = {name: each for name, each in data_sets().items() if each.kind == "task"}
    registered |= {further: each for each in data_sets().values() for further in each.further_tasks}
    assert tasks.keys() - UNREGISTERED == registered.keys()
    for name, files in tasks.items():
        hub = registered[name].hub if name in registered else None
        if hub is None:
            assert not files.splits
            continue
        for part in files.needed:
            assert files.splits[part].configuration == hub.configuration
            assert files.splits[part].name in hub.splits
        for split in files.splits.values():
            assert split.configuration != hub.configuration or split.name in hub.splits


@pytest.mark.parametrize("name", [name for name in data_sets() if data_sets()[name].kind == "task"])
def test_the_registered_files_of_a_task_are_those_that_it_reads(name: str) -> None:
    files = find_task(name).files
    assert files is not None
    published(data_sets()[name].files[0].path)
    located = {**FolderOfTasks(path=str(ROOT / data_folder())).located(files)}
    located |= {
        f"{part} beside": path.with_name(files.beside[part]) for part, path in located.items() if files.beside
    }
    registered = {(ROOT / data_folder() / file.path).resolve() for file in data_sets()[name].files}
    assert {path.resolve() for path in located.values()} <= registered


def small(*contents: bytes) -> DataSet:
    """Return a data set of RTE's splits on the hub and files of these contents."""
    files = tuple(
        RegisteredFile(path=f"RTE/{number}.tsv", bytes=len(each), sha256=hashlib.sha256(each).hexdigest())
        for number, each in enumerate(contents)
    )
    hub = HubSource(name="nyu-mll/glue", revision=COMMIT, configuration="rte", splits=("train", "validation"))
    return DataSet(kind="task", title="small", source="here", hub=hub, files=files)


def test_the_hash_of_several_files_is_that_of_their_list() -> None:
    assert small(b"one").sha256 == small(b"one").files[0].sha256
    assert len({small(b"one", b"two").sha256, small(b"two", b"one").sha256, small(b"one").sha256}) == 3


@pytest.mark.parametrize(
    ("there", "state", "faults"),
    [
        ((None, None), State.ABSENT, ["0.tsv: is missing", "1.tsv: is missing"]),
        ((b"one", None), State.INCOMPLETE, ["1.tsv: is missing"]),
        ((b"one", b"twO"), State.DIFFERENT, ["1.tsv: sha256 "]),
        ((b"", b"two"), State.DIFFERENT, ["0.tsv: 0 bytes; expected 3"]),
        ((None, b"longer"), State.DIFFERENT, ["0.tsv: is missing", "1.tsv: 6 bytes; expected 3"]),
        ((b"one", b"two"), State.VERIFIED, []),
    ],
)
def test_the_state_follows_from_the_files_and_every_fault_is_reported(
    there: tuple[bytes | None, ...], state: State, faults: list[str], tmp_path: Path
) -> None:
    (tmp_path / "RTE").mkdir()
    for number, content in enumerate(there):
        if content is not None:
            (tmp_path / f"RTE/{number}.tsv").write_bytes(content)
    finding = find(small(b"one", b"two"), tmp_path)
    assert finding.state is state
    assert len(finding.faults) == len(faults)
    for fault, expected in zip(finding.faults, faults, strict=True):
        assert str(fault).startswith(str(tmp_path / "RTE" / expected))
        assert fault.missing == ("missing" in expected)


def hub_of(folder: Path) -> dict[tuple[str, str, str], Any]:
    """Return RTE's splits as the hub has them, each with 6 examples."""
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    write_table("rte", folder / "rte.tsv", 6)
    columns = columns_of("rte", read_file("rte", "dev", folder / "rte.tsv"))
    label, text, number = (
        datasets.ClassLabel(names=[*NAMES["rte"]]),
        datasets.Value("string"),
        datasets.Value("int32"),
    )
    features = datasets.Features({"sentence1": text, "sentence2": text, "label": label, "idx": number})
    table = datasets.Dataset.from_dict(columns, features=features)
    return {("nyu-mll/glue", "rte", split): table for split in ("train", "validation")}


def test_a_fetched_set_is_verified_readable_and_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(monkeypatch, hub_of(tmp_path), COMMIT)
    folder = tmp_path / "sets"
    place, fetched = fetch(small(b"one"), folder)
    assert (place, fetched) == (folder / "fetched" / "rte", True)
    assert asked == [f"nyu-mll/glue@{COMMIT} rte/{split}" for split in ("train", "validation")]
    assert sorted(path.name for path in place.iterdir()) == [MANIFEST, "train.parquet", "validation.parquet"]
    manifest = json.loads((place / MANIFEST).read_text())
    assert manifest["revision"] == COMMIT
    assert {file["rows"] for file in manifest["files"].values()} == {6}
    assert find(small(b"one"), folder).state is State.FETCHED
    assert fetch(small(b"one"), folder) == (place, False)
    assert len(asked) == 2
    monkeypatch.setenv(VARIABLE, str(folder))
    data, rte = FolderOfTasks(path=f"${VARIABLE}"), files_of("rte")
    assert {part: len(found.examples) for part, found in data.parts(rte).items()} == {"train": 6, "dev": 6}
    assert data.located(rte) == {}
    assert data.inputs(rte) == {
        part: {name: manifest["files"][name]["sha256"]}
        for part, name in (("train", "train.parquet"), ("dev", "validation.parquet"))
    }


def test_official_files_have_priority_over_fetched_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, hub_of(tmp_path), COMMIT)
    fetch(small(b"one"), tmp_path)
    for part in ("train", "dev"):
        write_table("rte", tmp_path / "RTE" / f"{part}.tsv", 4)
    data = FolderOfTasks(path=str(tmp_path))
    assert data.located(files_of("rte"))["dev"] == tmp_path / "RTE" / "dev.tsv"
    assert len(data.parts(files_of("rte"))["dev"].examples) == 4


def test_a_changed_or_missing_fetched_file_is_reported_and_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, hub_of(tmp_path), COMMIT)
    place, _ = fetch(small(b"one"), tmp_path)
    (place / "train.parquet").unlink()
    (place / "validation.parquet").write_bytes(b"torn")
    finding = find(small(b"one"), tmp_path)
    assert finding.state is State.DIFFERENT
    assert [(fault.path.name, fault.missing) for fault in finding.faults] == [
        ("train.parquet", True),
        ("validation.parquet", False),
    ]
    with pytest.raises(ConflictError, match="move it away") as refused:
        fetch(small(b"one"), tmp_path)
    assert len(refused.value.lines) == 2
    assert (place / "validation.parquet").read_bytes() == b"torn"
    (place / MANIFEST).write_text("{}")
    assert find(small(b"one"), tmp_path).faults[0].path == place / MANIFEST


def test_an_incomplete_copy_is_unchanged_and_nothing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(monkeypatch, hub_of(tmp_path), COMMIT)
    (tmp_path / "RTE").mkdir()
    (tmp_path / "RTE/0.tsv").write_bytes(b"one")
    with pytest.raises(ConflictError, match=r"1\.tsv: is missing; some of it is there already"):
        fetch(small(b"one", b"two"), tmp_path)
    assert asked == []


@pytest.mark.parametrize(
    ("error", "refusal", "words"),
    [
        (ConnectionError("Couldn't reach it"), MachineError, "the network or the hub is unreachable"),
        (OSError(28, "No space left on device"), MachineError, "No space left"),
        (ValueError("Unknown split 'train'"), DataError, "Unknown split"),
    ],
)
def test_a_hub_error_is_one_line_and_leaves_no_files(
    error: Exception, refusal: type[Exception], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(refusal, match=words) as refused:
        fetch(small(b"one"), tmp_path / "of mine" / "sets")
    assert len(str(refused.value).splitlines()) == 1
    assert [*tmp_path.iterdir()] == []


def test_data_sets_that_are_not_on_the_hub_are_refused_with_source_and_folder(tmp_path: Path) -> None:
    away = small(b"one", b"two").model_copy(update={"hub": None})
    refuse_unfetchable({"near": small(b"one")}, tmp_path)
    with pytest.raises(DataError, match=r"^away: is not fetched by this command; get it from here") as refused:
        refuse_unfetchable({"near": small(b"one"), "away": away}, tmp_path)
    assert str(refused.value).endswith(str(tmp_path / "RTE"))
