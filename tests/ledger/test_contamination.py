"""Contamination in stage, limit and report: planted text is counted, located and, above the limit, an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports.sections.contamination import leakage_notes, leakage_table
from runners.dag import shared_stages
from runners.stages.context import ProgressFile, StageContext
from steeplechase.analysis.proportions import wilson
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.contamination import refuse_contamination
from steeplechase.ledger.records import Record, Status
from steeplechase.tasks.corpora.assembly import SUMMARY_FILE, CorpusSummary, SplitSize, split_file
from tests.factories import simulated_training as simulated
from tests.factories.stage_results import result_of

SENTENCES = [f"The {number} birds of island {number} sing in tree {number}." for number in range(40)]


def glue(folder: Path) -> Path:
    """Write MRPC files of 20 train and 20 dev pairs; return their folder."""
    (folder / "MRPC").mkdir(parents=True)
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    rows = [f"{n % 2}\t{n}\t{n}\t{SENTENCES[n]}\t{SENTENCES[n + 20]}" for n in range(20)]
    for name in ("train.tsv", "dev.tsv"):
        (folder / "MRPC" / name).write_text("\n".join([header, *rows]) + "\n")
    return folder


def corpus(folder: Path, *texts: str) -> Path:
    folder.mkdir()
    lines = [json.dumps({"source": f"page {number}", "text": text}) for number, text in enumerate(texts)]
    split_file(folder, "train").write_text("\n".join(lines) + "\n")
    size = SplitSize(documents=len(texts), characters=1, sources=1)
    summary = CorpusSummary(
        content_hash="",
        splits={"train": size, "validation": size, "test": size},
        exact_duplicates=0,
        near_duplicates=0,
        unreadable_files=0,
    )
    (folder / SUMMARY_FILE).write_text(summary.model_dump_json())
    return folder


def experiment(folder: Path, **tuning: Any) -> Any:
    data = str(glue(folder / "glue"))
    return simulated.small_table(
        folder, fine_tuning={"tasks": ["mrpc"], "sequence_length": 16, "data": data, **tuning}
    )


def found(folder: Path, *texts: str) -> Record:
    """Return the record of the contamination stage with a corpus of these texts."""
    stage = shared_stages(experiment(folder)).named()["contamination mrpc"]
    (folder / "work").mkdir()
    context = StageContext({"corpus": corpus(folder / "corpus", *texts)}, folder / "work", ProgressFile(folder / "p"))
    result = stage.declaration.compute(context)
    return Record(
        0,
        None,
        stage.kind,
        "contamination mrpc",
        stage.key,
        Status.FINISHED,
        result_of("contamination", result),
        1.0,
        False,
    )


def test_planted_contamination_is_counted_and_reported_below_the_tables(tmp_path: Path) -> None:
    planted = f"Before. {SENTENCES[3]} After.\n{SENTENCES[25]}"
    record = found(tmp_path, "a page of its own", planted, "another page")
    (row,) = leakage_table([record]).rows
    low, high = wilson(2, 20)
    counts = ("task", "dev_examples", "long_enough", "overlapping", "share", "low", "high", "by_sentence", "by_run")
    assert [row[name] for name in counts] == ["mrpc", 20, 20, 2, 0.1, low, high, 2, 0]
    assert record.result.as_json["first"] == ("dev.tsv:5 (in page 1)", "dev.tsv:7 (in page 1)")
    ((_, note),) = leakage_notes([record])
    assert note.startswith(
        "mrpc 2 of 20 dev examples (10.00% [2.79, 30.10]). Counted: an example with a sentence of 4 words"
    )


def test_contamination_above_the_limit_is_an_error_before_training(tmp_path: Path) -> None:
    record = found(tmp_path, SENTENCES[0])
    for folder, limit in (("none", None), ("level", 0.05), ("above", 0.06)):
        (tmp_path / folder).mkdir()
        refuse_contamination(
            experiment(tmp_path / folder, **({} if limit is None else {"max_overlap": limit})), [record]
        )
    (tmp_path / "below").mkdir()
    with pytest.raises(DataError) as refusal:
        refuse_contamination(experiment(tmp_path / "below", max_overlap=0.04), [record])
    message, advice = refusal.value.lines
    assert message == (
        "fine_tuning.max_overlap: mrpc: 1 of 20 dev examples (5.00% [0.89, 23.61]) occur in the pretraining text "
        "(1 by a whole sentence, 0 by 13 words in a row), more than 4%: dev.tsv:2 (in page 0)"
    )
    assert advice.startswith("Did you mean another corpus")


def test_only_training_pairs_of_unordered_tasks_are_swapped(tmp_path: Path) -> None:
    from runners.computing.examples import compute as compute_examples
    from runners.stages.examples import ExamplesStage
    from steeplechase.tasks.labelled.encoding import load_examples
    from tests.factories.small_experiments import WORDS

    swapping = experiment(tmp_path, by_task={"mrpc": {"swap_pairs": True}})
    stage = shared_stages(swapping).examples["mrpc"].declaration
    assert isinstance(stage, ExamplesStage)
    for folder in ("words", "work"):
        (tmp_path / folder).mkdir()
    WORDS.save(tmp_path / "words")
    result = compute_examples(
        stage, StageContext({"tokens": tmp_path / "words"}, tmp_path / "work", ProgressFile(tmp_path / "p"))
    )
    train, dev = (load_examples(tmp_path / "work" / part) for part in ("train", "dev"))
    assert (len(train), len(dev)) == (40, 20)
    assert result["train"]["examples"] == 40  # type: ignore[index,call-overload]
    (tmp_path / "plain").mkdir()
    plain = experiment(tmp_path / "plain")
    assert shared_stages(plain).examples["mrpc"].key != shared_stages(swapping).examples["mrpc"].key
