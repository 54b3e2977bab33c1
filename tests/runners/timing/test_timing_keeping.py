"""The record on disk: the same after a round trip, refused when it is not what was written."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from foundation.atomic_files import make_folder
from foundation.errors import CorruptionError, MachineError
from ledger.timing.keeping import TIMING_NAME, has_timings, read, write
from tests.factories.timings import experiment, record

FULL = {
    8: {"attention": (0.1, 0.2, 0.3), "mixed": (0.05, 0.1, 0.15)},
    16: {"attention": (1.0, 2.0, 3.0), "mixed": (0.7, 0.8, 0.9)},
}


def test_what_is_written_is_read_and_nothing_else_is_left(tmp_path: Path) -> None:
    assert not has_timings(tmp_path)
    for seconds in ({}, {16: FULL[16]}, FULL):
        kept = record(seconds)
        write(kept, tmp_path)
        assert read(tmp_path) == kept
    assert [path.name for path in tmp_path.iterdir()] == [TIMING_NAME]


@given(place=some.floats(0, 1, exclude_max=True), byte=some.integers(1, 255))
@settings(max_examples=60)
def test_a_changed_byte_never_passes_for_other_timings(
    tmp_path_factory: pytest.TempPathFactory, place: float, byte: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    kept = record(FULL)
    write(kept, folder)
    content = bytearray((folder / TIMING_NAME).read_bytes())
    content[int(place * len(content))] ^= byte
    (folder / TIMING_NAME).write_bytes(content)
    with suppress(CorruptionError):
        assert read(folder) == kept  # a change of white space alone
    assert (folder / TIMING_NAME).read_bytes() == bytes(content)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"sha256": "", "record": {}}', "[" * 100_000, "nul\x00"])
def test_what_is_no_record_is_corruption(text: str, tmp_path: Path) -> None:
    (tmp_path / TIMING_NAME).write_text(text)
    with pytest.raises(CorruptionError, match="move the file away"):
        read(tmp_path)


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1.0", "0.0", '"x"', "null"])
def test_seconds_that_cannot_be_are_corruption_even_with_the_right_hash(seconds: str, tmp_path: Path) -> None:
    from foundation.schema import fingerprint

    write(record(FULL), tmp_path)
    document = json.loads((tmp_path / TIMING_NAME).read_text())
    document["record"]["measured"][0]["seconds"]["mixed"][0] = json.loads(seconds)
    if seconds not in ("NaN", "Infinity"):  # the hash takes no such numbers either
        document["sha256"] = fingerprint(document["record"])
    (tmp_path / TIMING_NAME).write_text(json.dumps(document))
    with pytest.raises(CorruptionError):
        read(tmp_path)


@pytest.mark.parametrize(
    "seconds",
    [
        {8: {"attention": (0.1, 0.2, 0.3)}},
        {8: {"attention": (0.1, 0.2, 0.3), "mixed": (0.1, 0.2)}},
        {9: FULL[8]},
        {8: {**FULL[8], "other": (0.1, 0.2, 0.3)}},
    ],
)
def test_a_length_is_there_whole_or_not_at_all(seconds: dict[int, dict[str, tuple[float, ...]]]) -> None:
    with pytest.raises(ValueError, match="length"):
        record(seconds)


def test_missing_lengths_are_those_that_were_not_timed() -> None:
    assert record({}).missing == (8, 16)
    assert record({16: FULL[16]}).missing == (8,)
    assert record({16: FULL[16]}, experiment(lengths=(16, 8, 32))).missing == (8, 32)


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot be written to"):
        make_folder(tmp_path / "file")
