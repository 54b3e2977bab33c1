"""Formats of recorded curves: what is read, and one clear line per error."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.replay.curves import plain
from runners.replay.curves.reading import read_curves
from runners.replay.curves.recorded import from_table
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.foundation.errors import DataError, MachineError, UserError
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.records import ArmRow, Record, Status, TrialRow
from steeplechase.ledger.stage_results import DivergedPretraining
from tests.factories.keys import KEY
from tests.factories.published_data import published
from tests.factories.stage_results import result_of

POINTS = [
    {"candidate": "a", "config": {"x": 1, "kind": "wide"}, "step": 1, "value": 3.0},
    {"candidate": "a", "step": 2, "value": 2.0},
    {"candidate": "b", "config": {"x": 2, "kind": "deep"}, "step": 2, "value": 1.0},
    {"candidate": "b", "step": 1, "value": None},
    {"candidate": "c", "config": {"x": 3, "kind": "deep"}, "step": 1, "value": 2.5},
    {"candidate": "d", "config": {"x": 4, "kind": "deep"}, "step": 1, "value": 2.5},
    {"candidate": "d", "step": 2, "value": 2.25},
]


def lines(*objects: object) -> str:
    return "\n".join(json.dumps(each) for each in objects)


def test_the_plain_format_reads_points_in_any_order_diverged_and_incomplete_candidates(tmp_path: Path) -> None:
    path = tmp_path / "curves.jsonl"
    path.write_text(lines({"direction": "min"}, *POINTS))
    (found,) = read_curves(path)
    assert (found.name, found.candidates, found.steps, found.left_out) == ("curves", ("a", "b", "d"), (1, 2), 1)
    assert found.values.tolist() == [[3.0, 2.0], [np.inf, np.inf], [2.5, 2.25]]


@given(
    st.lists(
        st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.inf)), min_size=3, max_size=3), min_size=2, max_size=6
    ),
)
def test_the_plain_format_round_trips(values: list[list[float]]) -> None:
    rows = [*values, [1.0, 1.0, 1.5], [1.0, 1.0, 2.5]]  # at least two finite ends
    configs = [{"place": place, "name": f"n{place}"} for place in range(len(rows))]
    one = from_table("t", [f"c{place}" for place in range(len(rows))], configs, (1.0, 2.0, 5.0), np.array(rows))
    other = plain.read("t", plain.written(one).splitlines())
    assert np.array_equal(one.values, other.values)
    assert (one.candidates, one.configs, one.steps) == (other.candidates, other.configs, other.steps)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no point"),
        ("{oops", ":1: not JSON"),
        ("[1, 2]", ":1: '[1, 2]' is not an object"),
        (lines({**POINTS[0], "candidate": "\ud800"}), ":1: \\ud800 is half of a surrogate pair and no character"),
        ('{"direction": "min"}\n' + lines(*POINTS) + "\n\0\0", ":9: a NUL byte at byte offset"),
        ('{"direction": "up"}', ":1: direction is 'up'; allowed: min, max"),
        (lines(POINTS[0], {"candidate": "a", "step": "x", "value": 1}), ":2: step is 'x'"),
        (lines(POINTS[0], {"candidate": "a", "step": 2, "value": "x"}), ":2: value is 'x'"),
        (lines(POINTS[0], {"candidate": "a", "step": 2}), ":2: value is missing"),
        (lines(POINTS[0], {"step": 2, "value": 1}), ":2: candidate is missing"),
        (lines(POINTS[0], POINTS[0]), ":2: candidate 'a' has step 1 twice"),
        (lines(POINTS[0], {**POINTS[1], "config": 3}), ":2: config is 3"),
        (lines(POINTS[0], {**POINTS[1], "config": {"x": 9}}), ":2: candidate 'a' has another config"),
        (lines(POINTS[0], POINTS[1]), "1 candidates reach the last step 2; at least 2 are needed"),
        (lines(POINTS[0], {**POINTS[1], "confg": {}}), ":2: 'confg' is not a key of a point. Did you mean 'config'?"),
        (lines(POINTS[0], {**POINTS[1], "direction": "max"}), ":2: direction 'max'; the first line has min"),
        (lines(POINTS[0]) + '\n{"candidate": "a", "step": 2, "value": 1, "value": 2}', ":2: key 'value' is twice"),
        (lines(*POINTS[:2], {"candidate": "b", "step": 2, "value": 1}), "no config on any point of candidate 'b'"),
        (lines(POINTS[0]) + "\n" + "[" * 100_000, ":2: too many lists or objects inside each other"),
        (lines(POINTS[0], {"candidate": "a", "step": 10**400, "value": 1}), ":2: step is inf"),
    ],
)
def test_a_wrong_plain_file_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text(text)
    with pytest.raises(DataError) as refused:
        read_curves(path)
    (line,) = refused.value.lines
    assert line.startswith(str(path))
    assert said in line


def test_all_mistakes_of_a_plain_file_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text(lines(POINTS[0], {"candidate": "a", "step": -1, "value": 1}) + "\n{oops\n[1]\n")
    with pytest.raises(DataError) as refused:
        read_curves(path)
    assert [line.removeprefix(f"{path}:")[:2] for line in refused.value.lines] == ["2:", "3:", "4:"]


def test_a_byte_order_mark_and_line_separators_in_names_are_text(tmp_path: Path) -> None:
    path = tmp_path / "curves.jsonl"
    text = lines(*POINTS).replace('"a"', '"a\u2028b"')
    path.write_text("\ufeff" + text, encoding="utf-8")
    assert read_curves(path)[0].candidates[0] == "a\u2028b"


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_curves_are_those_of_the_text_and_other_bytes_are_named(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    text = lines(*POINTS).replace("\n", "\r\n").encode()
    good, wrong, utf16 = (tmp_path / f"{name}.jsonl{suffix}" for name in ("curves", "wrong", "utf16"))
    good.write_bytes(pack(text))
    assert (read_curves(good)[0].name, read_curves(good)[0].candidates) == ("curves", ("a", "b", "d"))
    wrong.write_bytes(bz2.compress(text))
    utf16.write_bytes(pack(text.decode().encode("utf-16")))
    with pytest.raises(DataError, match=r"the first bytes are \.bz2 data"):
        read_curves(wrong)
    with pytest.raises(DataError, match=r"utf16.*:1: UTF-16 text; convert the file to UTF-8, with iconv -f utf-16"):
        read_curves(utf16)
    if suffix:
        good.write_bytes(pack(text)[:-20])
        with pytest.raises(DataError, match="damaged archive"):
            read_curves(good)


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MachineError):
        read_curves(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no curves in it"):
        read_curves(tmp_path)


COSTS = {"cohort": 0, "parameters": 1, "forward_flops": 1, "train_flops": 1}


def wide(place: int) -> Candidate:
    return Candidate(architecture=Architecture(feed_forward_width=64 * (1 + place)))


def test_curves_of_a_ledger_are_means_over_seeds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER_NAME)
    for place, arm in enumerate(("baseline", "wide", "stopped", "diverged")):
        ledger.add_arm(ArmRow(arm, wide(place), {}, position=place, **COSTS))
        for seed in (1, 2):
            ledger.add_trial(TrialRow(f"{arm}/{seed}", arm, seed))
            marks = (10, 20) if arm in ("baseline", "wide") else (10,)
            for tokens in marks:
                loss = 6.0 - tokens / 10 - place + seed / 10
                result = {"tokens": tokens, "held_out_loss": loss, "held_out_curve": [[tokens, loss]]}
                ledger.add_record(
                    Record(
                        0,
                        f"{arm}/{seed}",
                        "pretrain",
                        f"p@{tokens}",
                        KEY,
                        Status.FINISHED,
                        result_of("pretrain", result),
                        1.0,
                        False,
                    )
                )
    broken = DivergedPretraining(tokens=15, loss="nan")
    ledger.add_record(Record(0, "diverged/1", "pretrain", "p@20", KEY, Status.DIVERGED, broken, 1.0, False))
    ledger.close()
    (found,) = read_curves(tmp_path)
    assert found.candidates == ("baseline", "wide", "diverged")
    assert found.left_out == 1
    assert found.steps == (10, 20)
    assert found.values == pytest.approx(np.array([[5.15, 4.15], [4.15, 3.15], [2.15, np.inf]]))


def test_nas_bench_bert_is_five_hundred_final_scores() -> None:
    (found,) = read_curves(published("curves/flexibert/BERT_benchmark.json"))
    assert found.values.shape == (500, 1)
    assert -100.0 < found.optimum < found.median_final < 0.0


def test_taskset_is_a_thousand_curves_of_51_points() -> None:
    name = "FixedTextRNNClassification_imdb_patch32_LSTM128_bs128.json.xz"
    (found,) = read_curves(published("curves/taskset") / name)
    assert found.values.shape == (1000, 51)
    assert found.costs[0] == pytest.approx(1 / 51)
