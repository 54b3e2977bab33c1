"""The hub's columns give the examples of the official files; wrong columns, names and revisions are reported."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.tasks.dataset_folder import FetchedTasks, FolderOfTasks, PublishedData
from steeplechase.tasks.labelled.task import Example, Part
from steeplechase.tasks.splits import LoadedSplit
from tests.factories.glue_folders import GLUE, TEXTS, write_table
from tests.factories.hub_columns import NAMES, columns_of, read_file, split_of
from tests.factories.published_data import published
from tests.factories.task_files import files_of


def read_split(name: str, part: str, split: LoadedSplit) -> Part:
    read = files_of(name).read_split
    assert read is not None
    return read(part, split, f"{name}/{part}")


def nameless(examples: Iterable[Example]) -> list[Example]:
    """Remove names of files and splits, and round values to 32 bits."""
    return [replace(one, source="", value=None if one.value is None else np.float32(one.value)) for one in examples]


def numbered(examples: Iterable[Example]) -> list[Example]:
    """Identify rows by their index, as the hub does."""
    return nameless(replace(example, row=str(place)) for place, example in enumerate(examples))


@pytest.mark.parametrize("name", GLUE)
def test_columns_of_the_hub_give_the_examples_of_the_file(name: str, tmp_path: Path) -> None:
    write_table(name, tmp_path / "dev.tsv", 3 * len(TEXTS))
    examples = read_file(name, "dev", tmp_path / "dev.tsv")
    found = read_split(name, "dev", split_of(name, examples))
    assert nameless(found.examples) == numbered(examples)
    assert found.left_out == 0


@pytest.mark.parametrize("name", sorted(NAMES))
def test_hub_labels_are_read_by_name(name: str, tmp_path: Path) -> None:
    write_table(name, tmp_path / "dev.tsv", 12)
    split = split_of(name, read_file(name, "dev", tmp_path / "dev.tsv"))
    last = len(NAMES[name]) - 1
    turned = {**split.columns, "label": [last - label for label in split.columns["label"]]}
    other = LoadedSplit(turned, {"label": NAMES[name][::-1]})
    assert read_split(name, "dev", other) == read_split(name, "dev", split)


def test_test_sets_have_no_labels_even_if_the_hub_has_them() -> None:
    examples = (Example("a", "b", label=1), Example("c", "d", label=0))
    found = read_split("mrpc", "test", split_of("mrpc", examples))
    assert [(one.label, one.row) for one in found.examples] == [(None, "0"), (None, "1")]


def test_a_withheld_label_is_counted_if_the_task_has_such_rows_and_refused_otherwise() -> None:
    rows = (Example("a", "b", label=0), Example("c", "d"), Example("e", "f", label=1))
    found = read_split("mnli", "dev", split_of("mnli", rows))
    assert ([one.row for one in found.examples], found.left_out) == (["0", "2"], 1)
    with pytest.raises(DataError, match="rte/dev:2: label is '-1'; expected entailment or not_entailment"):
        read_split("rte", "dev", split_of("rte", rows))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sentence2": None}, "no column 'sentence2'; found are 'sentence1', 'label', 'idx'"),
        ({"label": ["entailment", "neutral"]}, "rte/dev:2: label is 'neutral'; expected entailment"),
        ({"label": [0, 1]}, "label holds 0, a number without a name; expected entailment or not_entailment"),
        ({"sentence1": ["a", None]}, "rte/dev:2: sentence1 is None, expected a text"),
        ({column: [] for column in ("sentence1", "sentence2", "label", "idx")}, "holds no rows"),
    ],
)
def test_wrong_columns_are_reported(change: dict[str, Any], told: str) -> None:
    columns = {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "label": ["entailment"] * 2, "idx": [0, 1], **change}
    with pytest.raises(DataError, match=told):
        read_split(
            "rte", "dev", LoadedSplit({name: column for name, column in columns.items() if column is not None})
        )


def test_other_label_names_are_reported() -> None:
    split = split_of("rte", (Example("a", "b", label=0),))
    with pytest.raises(DataError, match="labels of label are LABEL_0 and LABEL_1; expected entailment or not_ent"):
        read_split("rte", "dev", LoadedSplit(split.columns, {"label": ("LABEL_0", "LABEL_1")}))


def test_a_plain_string_is_a_folder_in_canonical_form() -> None:
    folder = TypeAdapter(PublishedData).validate_python("data/glue")
    assert canonical(folder) == {"kind": "folder", "path": "data/glue"}
    assert TypeAdapter(PublishedData).validate_python({"path": "data/glue"}) == folder


def test_without_the_extra_the_install_command_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)  # what Python does where it is not installed
    (tmp_path / "rte").mkdir()
    for name in ("train", "validation"):
        (tmp_path / "rte" / f"{name}.parquet").touch()
    with pytest.raises(MachineError, match=r"pip install 'steeplechase\[datasets\]'"):
        FetchedTasks(tmp_path).parts(files_of("rte"))


def test_fetched_files_are_found_by_split_and_identified_by_content(tmp_path: Path) -> None:
    data, files = FetchedTasks(tmp_path), files_of("mnli")
    assert not data.has(files)
    (tmp_path / "mnli").mkdir()
    assert data.has(files)
    with pytest.raises(DataError, match="no files of mnli/train and mnli/validation_matched; fetch them again"):
        data.located(files)
    for name in ("train", "validation_matched", "validation_mismatched"):
        (tmp_path / "mnli" / f"{name}.parquet").write_text(name)
    told = data.inputs(files)
    assert isinstance(told, dict)
    assert {part: [*hashes] for part, hashes in told.items()} == {
        "train": ["train.parquet"],
        "dev": ["validation_matched.parquet"],
        "mismatched": ["validation_mismatched.parquet"],
    }
    (tmp_path / "mnli" / "validation_matched.parquet").write_text("other")
    assert data.inputs(files) != told


# Through the library itself


def write_split(name: str, folder: Path, split: str, examples: tuple[Example, ...]) -> None:
    """Write examples as the hub keeps them, by the library's own means."""
    datasets = pytest.importorskip("datasets", reason="needs the extra `datasets`")
    columns = columns_of(name, examples)
    texts = {column: datasets.Value("string") for column in columns if column not in ("label", "idx")}
    label = datasets.ClassLabel(names=[*NAMES[name]]) if name in NAMES else datasets.Value("float32")
    features = {**texts, "label": label, "idx": datasets.Value("int32")}
    folder.mkdir(parents=True, exist_ok=True)
    table = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
    table.to_parquet(str(folder / f"{split}.parquet"))


@pytest.mark.parametrize("name", ["cola", "sst2", "mrpc", "rte", "stsb"])
def test_fetched_files_give_the_examples_of_the_official_files(name: str, tmp_path: Path) -> None:
    folder = FolderOfTasks(path=str(published(f"glue/{files_of(name).folder}")))
    located = folder.located(files_of(name))
    splits = {"train": "train", "dev": "validation", "test": "test"}
    official = {part: read_file(name, part, path)[:4000] for part, path in located.items()}
    for part, examples in official.items():
        write_split(name, tmp_path / name, splits[part], examples)
    found = FetchedTasks(tmp_path).parts(files_of(name))
    assert found.keys() == official.keys()
    for part, examples in official.items():
        assert nameless(found[part].examples) == nameless(examples)
        assert found[part].left_out == 0
