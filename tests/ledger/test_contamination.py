"""Contamination in stage, limit and report, and the standing of tasks against their references."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.sections.contamination import leakage_notes, leakage_table
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from runners.dag import shared_stages
from runners.stages.context import ProgressFile, StageContext
from steeplechase.analysis.proportions import wilson
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.contamination import refuse_contamination
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_references import TaskReferences
from steeplechase.ledger.task_standing import standing_of
from steeplechase.tasks.corpora.assembly import SUMMARY_FILE, CorpusSummary, SplitSize, split_file
from tests.factories import simulated_training as simulated
from tests.factories.reports import Trial, document, primary, snapshot
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
    stage = shared_stages(experiment(folder)).by_label["contamination mrpc"]
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


SAMPLE = st.lists(st.integers(-400, 400).map(lambda value: value / 4), min_size=3, max_size=3, unique=True)


TASKS = ("docs_answer", "docs_pair")


def references(chance: float | None, untrained: tuple[float, ...] = ()) -> TaskReferences:
    return TaskReferences("docs_pair", "accuracy", chance, None, None, {}, untrained)


@given(SAMPLE, st.integers(-300, 300))
def test_with_one_arm_it_is_the_one_sample_t(sample: list[float], chance: int) -> None:
    p = stats.ttest_1samp(sample, chance, alternative="greater").pvalue
    found = standing_of(references(chance), [sample])
    assert found is not None
    assert found.below == (p > 0.05)


@given(SAMPLE, SAMPLE)
def test_against_untrained_encoders_it_is_the_two_sample_t(sample: list[float], untrained: list[float]) -> None:
    p = stats.ttest_ind(sample, untrained, alternative="greater").pvalue
    found = standing_of(references(-1e6, tuple(untrained)), [sample])
    assert found is not None
    assert found.below == (p > 0.05)


@given(st.lists(SAMPLE, min_size=2, max_size=4), st.floats(-9, 9))
def test_differences_between_arms_do_not_enter(samples: list[list[float]], chance: float) -> None:
    level = fmean(map(fmean, samples))
    equal = [[value - fmean(sample) + level for value in sample] for sample in samples]
    found, moved = (standing_of(references(chance), each) for each in (samples, equal))
    assert found is not None
    assert moved is not None
    assert moved.mean == pytest.approx(found.mean)
    if abs(found.mean - chance) > 1e-6:
        assert moved.missed == found.missed


@pytest.mark.parametrize(
    ("known", "arms", "below"),
    [
        (references(50.0), [[40.0]], False),  # without a spread nothing is tested
        (references(None), [[40.0, 41.0]], True),  # without a reference nothing is claimed
        (references(None, (1.0, 1.1)), [[40.0, 41.0]], True),  # an untrained encoder is no reference of its own
        (replace(references(None), extractive={"whole_text": 41.05}), [[40.0, 41.0], [40.5, 42.0]], True),
        (replace(references(None), extractive={"whole_text": 31.05}), [[40.0, 41.0], [40.5, 42.0]], False),
    ],
)
def test_a_task_is_below_what_it_does_not_exceed(known: TaskReferences, arms: list[list[float]], below: bool) -> None:
    """A task with a spread stays in the score only above all of its references, of which there must be one."""
    found = standing_of(known, arms)
    assert found is not None
    assert found.below is below


def view(**means: float) -> Snapshot:
    trials = []
    for arm, shift in (("baseline", 0.0), ("wide", 1.0)):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + 0.01 * seed)
            for task, mean in means.items():
                trial.tuned(task, 1, **{primary(task): mean + shift + 0.2 * seed})
            trials.append(trial)
    resolved = document(TASKS, fine_tuning={"tasks": [*TASKS], "seeds": [1]})
    arms = {"baseline": {}, "wide": {"width": 512}}
    return snapshot(trials, arms, TASKS, tuning_seeds=(1,), resolved=resolved)


def results(**means: float) -> Results:
    return results_of(view(**means), primary)


def test_the_score_is_the_mean_over_the_tasks_that_exceed_their_references() -> None:
    for means, below in (
        ({"docs_answer": 60.0, "docs_pair": 70.0}, ()),
        ({"docs_answer": 40.0, "docs_pair": 70.0}, ("docs_answer",)),
    ):
        found = results(**means)
        assert found.below_reference == below
        in_score = [task for task in TASKS if task not in below]
        for arm, by_metric in found.values.items():
            for seed, score in by_metric["score"].items():
                assert score == pytest.approx(fmean(found.values[arm][task][seed] for task in in_score))
        assert [metric.name for metric in found.headlines] == ["held_out_loss", "score"]


def test_where_every_task_is_below_there_is_no_score() -> None:
    found = results(docs_answer=40.0, docs_pair=41.0)
    assert found.below_reference == TASKS
    assert [metric.name for metric in found.headlines] == ["held_out_loss"]
    assert all("score" not in by_metric for by_metric in found.values.values())
    assert [name for _, name in found.families[0]] == ["held_out_loss"]
