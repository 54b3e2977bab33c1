"""A label says which stage of a trial it names: text and parts are each other's inverse."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.configuration.stage_label import StageLabel, fine_tuning_cells, pretraining_marks

WORDS = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=12)
NAMES = st.text(string.ascii_letters + "_.", min_size=1, max_size=12)
VALUES = st.text(string.ascii_letters + string.digits + "_.-", max_size=8)
COUNTS = st.integers(0, 10**12)
LABELS = st.one_of(
    st.builds(StageLabel, st.just("untrained"), task=WORDS, seed=COUNTS),
    st.builds(StageLabel, WORDS),
    st.builds(StageLabel, WORDS, tokens=COUNTS),
    st.builds(StageLabel, WORDS, task=WORDS),
    st.builds(StageLabel, WORDS, number=COUNTS),
    st.builds(StageLabel, WORDS, length=COUNTS),
    st.builds(
        StageLabel,
        st.just("fine_tune"),
        task=WORDS,
        seed=COUNTS,
        searched=st.lists(st.tuples(NAMES, VALUES), max_size=3).map(tuple),
    ),
)


@given(LABELS)
def test_labels_survive_a_round_trip(label: StageLabel) -> None:
    assert StageLabel.parse(str(label)) == label


@given(st.text(max_size=30) | st.text("@# =a1", max_size=12))
def test_the_text_of_a_label_survives_being_read(text: str) -> None:
    assert str(StageLabel.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("pretrain@500000", StageLabel("pretrain", tokens=500_000)),
        ("probe@500000", StageLabel("probe", tokens=500_000)),
        ("docs_pair#1", StageLabel("fine_tune", task="docs_pair", seed=1)),
        (
            "rte#2 epochs=3 peak_learning_rate=0.0001",
            StageLabel("fine_tune", task="rte", seed=2, searched=(("epochs", "3"), ("peak_learning_rate", "0.0001"))),
        ),
        ("examples rte", StageLabel("examples", task="rte")),
        ("contamination squad_v2_0", StageLabel("contamination", task="squad_v2_0")),
        ("corpus for tasks 1", StageLabel("corpus", number=1)),
        ("untrained for tasks 2", StageLabel("untrained", number=2)),
        ("untrained cola#2", StageLabel("untrained", task="cola", seed=2)),
        ("long_sequence_phase", StageLabel("long_sequence_phase")),
        ("latency n = 128", StageLabel("latency", length=128)),
    ],
)
def test_the_labels_of_ledgers(text: str, label: StageLabel) -> None:
    assert (str(label), StageLabel.parse(text)) == (text, label)


def test_a_trials_stages_are_read_from_their_labels() -> None:
    labels = ("pretrain@5", "probe@5", "pretrain@9", "attention", "rte#1 epochs=3", "rte#1 epochs=10", "wnli#1")
    assert pretraining_marks(labels) == ("pretrain@5", "pretrain@9")
    assert [str(cell) for cell in fine_tuning_cells(labels)] == ["rte#1", "wnli#1"]
