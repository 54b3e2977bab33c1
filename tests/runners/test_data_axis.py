"""Arms with another text or vocabulary: what they share, what is refused, and that no held-out text is trained on."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.dag import shared_stages, trial_stages
from runners.stages.context import ProgressFile, StageContext
from runners.stages.tokens import TokensStage
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.arms import data_violations
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.tasks.corpora.assembly import Split, assemble, read_documents
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordOption, load_tokenizer
from steeplechase.tasks.tokens import read_tokens
from tests.factories import simulated_training as simulated

WORDS = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]
HELD_OUT: tuple[Split, ...] = ("validation", "test")
OTHER = {"corpus": {"kind": "text_files", "path": "other.txt"}}
BYTES = {"tokenizer": {"kind": "byte_bpe"}}
BY_OBJECTIVE = {"tokens": 2560, "seeds": [1], "evaluation_sets": "by_objective"}
SEARCH = {"kind": "search", "space": {"data": ["other"]}, "max_candidates": 3}


def experiment(folder: Path, data: dict[str, Any], **parts: Any) -> Experiment:
    """Return a table with an arm for each of the data."""
    (folder / "other.txt").write_text("another text\n" * 4000)
    data = {name: each if "corpus" not in each else _at(folder, each) for name, each in data.items()}
    design = {"kind": "list", "arms": {name: {"data": name} for name in data}}
    return simulated.experiment(folder, **{"design": design, "data": data, "pretraining": BY_OBJECTIVE, **parts})


def _at(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "corpus": {**data["corpus"], "path": str(folder / data["corpus"]["path"])}}


def inputs(found: Experiment, arm: str, label: str) -> dict[str, str]:
    """Return the keys of a stage's inputs by name."""
    candidate = next(each.candidate for each in found.arms if each.name == arm)
    stage = trial_stages(found, shared_stages(found), candidate, 1)[label]
    return {name: source.key for name, source in stage.inputs.items()}


def test_another_text_is_measured_on_the_same_sets_and_another_vocabulary_on_sets_of_its_own(tmp_path: Path) -> None:
    found = experiment(tmp_path, {"other": OTHER, "bytes": BYTES})
    for label, common in (("pretrain@2560", "evaluation_set"), ("docs_pair#1", "examples")):
        baseline, other, own = (inputs(found, arm, label) for arm in ("baseline", "other", "bytes"))
        assert label != "pretrain@2560" or len({each["tokens"] for each in (baseline, other, own)}) == 3
        assert other[common] == baseline[common] != own[common]


def test_data_change_no_key_of_the_baseline_and_their_names_none_of_the_arms(tmp_path: Path) -> None:
    one, other = experiment(tmp_path, {"other": OTHER}), experiment(tmp_path, {"renamed": OTHER})
    label = "docs_pair#1"
    assert inputs(one, "other", label) == inputs(other, "renamed", label)
    assert inputs(simulated.experiment(tmp_path), "baseline", label) == inputs(one, "baseline", label)


@pytest.mark.parametrize(
    ("data", "parts", "refused"),
    [
        ({"other": OTHER}, {"pretraining": {"tokens": 2560, "seeds": [1]}}, []),
        ({"bytes": BYTES}, {}, []),
        ({"bytes": BYTES}, {"pretraining": {"tokens": 2560, "seeds": [1]}}, ["two vocabularies are not comparable"]),
        ({"bytes": BYTES}, {"fine_tuning": {}}, ["fine_tuning.tasks is empty"]),
        ({"other": {}}, {}, ["changes nothing"]),
        ({"othr": OTHER}, {"design": SEARCH}, ["'other' is not declared. Did you mean 'othr'?", "no arm has it"]),
        ({"other": BYTES}, {"design": SEARCH}, ["Write objectives: [score]"]),
        ({"other": BYTES}, {"design": {**SEARCH, "objectives": ["score"]}}, []),
    ],
)
def test_data_that_cannot_be_compared_are_refused(
    data: dict[str, Any], parts: dict[str, Any], refused: list[str], tmp_path: Path
) -> None:
    found = experiment(tmp_path, data, **parts)
    messages = [violation.message for violation in data_violations(found)]
    assert len(messages) == len(refused)
    assert all(text in message for text, message in zip(refused, messages, strict=True))
    assert {*messages} <= {violation.message for violation in violations_of(found)}


def test_another_text_has_the_common_held_out_split_and_trains_on_none_of_it(tmp_path: Path) -> None:
    generator = random.Random(1)
    texts = [" ".join(generator.choices(WORDS[:200], k=40)) for _ in range(800)]
    corpora = {name: tmp_path / name for name in ("common", "other")}
    for (name, folder), lines in zip(corpora.items(), (texts[:400], texts), strict=True):
        folder.mkdir()
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
        assemble(TextFilesCorpus(path=str(tmp_path / f"{name}.jsonl")), folder, silent)
    stage = TokensStage(tokenizer=WordOption(), read=None, vocabulary_size=205)
    inputs = {"corpus": corpora["common"]}
    found = {}
    for name in ("own", "arm"):
        folder = tmp_path / f"{name} tokens"
        folder.mkdir()
        stage.compute(StageContext(inputs, folder, ProgressFile(tmp_path / "progress.json")))
        found[name] = [read_tokens(folder / f"{split}.npy").tobytes() for split in ("train", "validation")]
        inputs = {"corpus": corpora["other"], "held_out": corpora["common"], "vocabulary": folder}
    assert found["own"][1] == found["arm"][1]
    held_out = {each.text for split in HELD_OUT for each in read_documents(corpora["common"], split)}
    repeated = {each.text for each in read_documents(corpora["other"], "train")} & held_out
    tokenizer = load_tokenizer(tmp_path / "own tokens")
    pieces = {text: np.asarray(tokenizer.encode([text])[0], np.uint16).tobytes() for text in held_out}
    assert repeated
    assert not any(pieces[text] in found["arm"][0] for text in held_out)
