"""Supersense tagging: DiMSUM's columns and split, and scores equal to scikit-learn's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.downstream import find_task
from tasks.labelled.scoring import score_tags
from tasks.labelled.task import Examples
from tasks.most_frequent_tag import most_frequent_tag_scores
from tests.factories.published_data import published


def test_dimsum_has_the_supersense_of_the_eighth_column_and_a_share_of_train_is_dev(tmp_path: Path) -> None:
    rows = [f"{n}\t{w}\t{w.lower()}\tNOUN\tO\t0\t\t{s}\ts1" for n, w, s in ((1, "Dogs", "n.animal"), (2, "the", ""))]
    path = tmp_path / "dimsum16.train"
    path.write_text("\n".join([*rows, "", "1\tOther\tother\tNOUN\tO\t0\t\t\ts2", ""]), encoding="utf-8")
    task = find_task("supersense_dimsum")
    assert task.files is not None
    assert task.files.read is not None
    parts = {part: task.files.read(part, path, path.name).examples for part in ("train", "dev", "test")}
    assert [[task.labels[tag] for tag in each.tags] for each in parts["test"]] == [["n.animal", "O"], ["O"]]
    assert {each.first for each in (*parts["train"], *parts["dev"])} == {each.first for each in parts["test"]}
    assert len(parts["train"]) + len(parts["dev"]) == 2
    assert find_task("supersense_dimsum_probe").method == "linear_probe"


@given(st.lists(st.tuples(*[st.sampled_from(find_task("supersense_dimsum").labels[:4])] * 2), min_size=1))
def test_supersense_scores_leave_out_words_without_one(pairs: list[tuple[str, str]]) -> None:
    """The measures of DiMSUM's script: correct supersenses over those predicted, and over those expected."""
    metrics = pytest.importorskip("sklearn.metrics")
    task = find_task("supersense_dimsum")
    found, expected = ([task.labels.index(pair[side]) for pair in pairs] for side in (0, 1))
    scores = score_tags(task, found, expected, [0] * len(pairs))
    labels = list(range(1, len(task.labels)))
    oracle = metrics.precision_recall_fscore_support(expected, found, labels=labels, average="micro", zero_division=0)
    names = ("supersense_precision", "supersense_recall", "supersense_f1")
    assert [scores[name] for name in names] == pytest.approx([100 * value for value in oracle[:3]])


def test_the_most_frequent_tag_of_each_word_on_dimsum() -> None:
    path = published("supersense/dimsum16/dimsum16.train")
    task = find_task("supersense_dimsum")
    assert task.files is not None
    assert task.files.read is not None
    train, dev = (task.files.read(part, path, path.name).examples for part in ("train", "dev"))
    assert {"train": len(train), "dev": len(dev)} == task.files.counts
    scores = most_frequent_tag_scores(task, Examples(train, dev))
    assert scores["supersense_f1"] == pytest.approx(57.52, abs=0.01)
