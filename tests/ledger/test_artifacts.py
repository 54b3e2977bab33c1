"""A finished stage is read unchanged or is an error, and is computed once; where the stages of a folder are."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.foundation.atomic_files import temporary_name
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError
from steeplechase.ledger.artifacts import MANIFEST, ArtifactStore, Outcome
from steeplechase.ledger.paths import RESULTS, ResultPaths
from steeplechase.ledger.records import Status
from tests.factories.keys import KEY, key_of
from tests.factories.paths import ROOT

OUTCOME = Outcome(Status.FINISHED, {"held_out_loss": 5.25, "curve": [[1, 2.5]]}, 1.5)
FILES = {"weights.bin": b"\x01\x02" * 4096, "part/labels.txt": b"0\n1\n"}
PUBLISH = """
import sys
from pathlib import Path
from steeplechase.ledger.records import Status
from steeplechase.ledger.artifacts import Outcome, ArtifactStore
from tests.factories.keys import key_of
store = ArtifactStore(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(10**6):
    with store.computing(key_of(f"{number:03d}")) as folder:
        (folder / "part").mkdir(exist_ok=True)
        for name in ("weights.bin", "part/labels.txt"):
            (folder / name).write_bytes(bytes([number % 256]) * 30000)
        store.publish("pretrain", key_of(f"{number:03d}"), folder, Outcome(Status.FINISHED, {"number": number}, 0.5))
    print(number, flush=True)
"""
COMPUTE_ONCE = """
import sys, time
from pathlib import Path
from steeplechase.ledger.records import Status
from steeplechase.ledger.artifacts import Outcome, ArtifactStore
from tests.factories.keys import KEY
store = ArtifactStore(Path(sys.argv[1]))
with store.computing(KEY) as folder:
    if store.outcome("pretrain", KEY) is None:
        print("computed", flush=True)
        time.sleep(0.3)
        store.publish("pretrain", KEY, folder, Outcome(Status.FINISHED, {}, 0.5))
"""
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "one bit": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "truncated": lambda content: content[:-1],
    "emptied": lambda content: b"",
    "zeroed": lambda content: b"\x00" * len(content),
    "longer": lambda content: content + b" ",
    "missing": lambda content: None,
}


def published(root: Path) -> ArtifactStore:
    store = ArtifactStore(root)
    with store.computing(KEY) as folder:
        for name, content in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        store.publish("pretrain", KEY, folder, OUTCOME)
    return ArtifactStore(root)


PLACES = [(kind, key) for kind in ("pretrain", "fine_tune") for key in map(key_of, ("one", "two", "three"))]


def several(root: Path) -> ArtifactStore:
    """Return a store with a stage of its own files and result under each of the places."""
    store = ArtifactStore(root)
    for kind, key in PLACES:
        with store.computing(key) as folder:
            (folder / "weights.bin").write_text(f"{kind} {key}")
            store.publish(kind, key, folder, Outcome(Status.FINISHED, {"from": [kind, key]}, 1.0), {"tokens": KEY})
    return ArtifactStore(root)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@given(order=st.permutations(PLACES), part=st.sampled_from(["folder", MANIFEST]))
def test_a_stage_under_another_stages_name_is_an_error_and_unchanged(
    tmp_path_factory: pytest.TempPathFactory, order: list[tuple[str, str]], part: str
) -> None:
    store = several(tmp_path_factory.mktemp("stages"))
    places = [store.folder(*place) if part == "folder" else store.folder(*place) / part for place in PLACES]
    for place in places:
        place.rename(place.with_name(f"{place.name}.moved"))
    for source, place in zip(order, places, strict=True):
        moved = places[PLACES.index(source)]
        moved.with_name(f"{moved.name}.moved").rename(place)
    before = contents(store.root)
    for source, place in zip(order, PLACES, strict=True):
        if source == place:
            assert store.outcome(*place) == Outcome(Status.FINISHED, {"from": [*place]}, 1.0)
            assert (store.read(*place) / "weights.bin").read_text() == " ".join(place)
            continue
        for asked in (store.outcome, store.read):
            with pytest.raises(CorruptionError, match=f"contains another stage, {'/'.join(source)}") as refused:
                asked(*place)
            assert str(store.folder(*place)) in str(refused.value)
    assert contents(store.root) == before


def test_a_published_stage_returns_its_outcome_and_files_and_leaves_no_temporary_files(tmp_path: Path) -> None:
    store = published(tmp_path)
    assert store.outcome("pretrain", KEY) == OUTCOME
    assert {name: (store.read("pretrain", KEY) / name).read_bytes() for name in FILES} == FILES
    assert not list((tmp_path / "unfinished").rglob("*"))
    assert store.outcome("pretrain", key_of("other")) is None


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_a_finished_stage_is_refused_by_folder(tmp_path: Path, name: str, damage: str) -> None:
    store = published(tmp_path)
    path = store.folder("pretrain", KEY) / name
    changed = DAMAGES[damage](path.read_bytes())
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    harmless = name == MANIFEST and damage == "longer"  # a space after the document says nothing
    if harmless:
        assert store.read("pretrain", KEY).is_dir()
        return
    with pytest.raises(CorruptionError, match="computed again") as refused:
        store.read("pretrain", KEY)
    assert str(store.folder("pretrain", KEY)) in str(refused.value)


def test_a_finished_stages_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    store = published(tmp_path)
    empty = store.folder("pretrain", key_of("empty"))
    empty.mkdir()
    with pytest.raises(CorruptionError, match=key_of("empty")):
        store.outcome("pretrain", key_of("empty"))
    empty.rmdir()
    for place in (empty.touch, lambda: empty.symlink_to("nowhere")):
        place()
        with pytest.raises(CorruptionError, match="it is no folder"):
            store.has("pretrain", key_of("empty"))
        empty.unlink()


def test_a_stage_is_published_atomically_when_the_process_is_killed(tmp_path: Path) -> None:
    chance, done = random.Random(20261121), 0
    for round_number in range(3):
        root = tmp_path / str(round_number)
        command = [sys.executable, "-c", PUBLISH, str(root)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as publisher:
            assert publisher.stdout is not None
            publisher.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.25))
            os.kill(publisher.pid, signal.SIGKILL)
            acknowledged = [int(line) for line in publisher.stdout if line.endswith("\n")]
        store = ArtifactStore(root)
        for number in acknowledged:
            assert store.outcome("pretrain", key_of(f"{number:03d}")) is not None
        for number in range(len(acknowledged) + 2):
            outcome = store.outcome("pretrain", key_of(f"{number:03d}"))
            if outcome is not None:
                assert outcome.result == {"number": number}
                assert store.read("pretrain", key_of(f"{number:03d}")).is_dir()
                done += 1
        assert store.outcome("pretrain", key_of(f"{len(acknowledged) + 2:03d}")) is None
    assert done > 0


def test_leftovers_of_a_killed_stage_do_not_prevent_its_computation(tmp_path: Path) -> None:
    left = tmp_path / "unfinished" / KEY
    left.mkdir(parents=True)
    (left / MANIFEST).write_text("{")
    (left / "weights.bin").write_bytes(b"half")
    (tmp_path / "unfinished" / f"{KEY}.lock").touch()
    store = published(tmp_path)
    assert (store.read("pretrain", KEY) / "weights.bin").read_bytes() == FILES["weights.bin"]


def test_a_folder_in_the_place_of_the_progress_file_fails_no_stage(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    store.progress_file(KEY).mkdir(parents=True)
    with store.computing(KEY) as folder:
        store.publish("pretrain", KEY, folder, Outcome(Status.FINISHED, {}, 0.5))
    assert not store.holder(KEY)


@pytest.mark.parametrize("name", [MANIFEST, "weights.bin", "part/labels.txt", "part", "resume"])
def test_what_was_being_written_at_a_kill_is_no_file_of_the_stage(tmp_path: Path, name: str) -> None:
    left = temporary_name(tmp_path / "unfinished" / KEY / name)
    left.parent.mkdir(parents=True)
    left.mkdir() if name == "resume" else left.write_bytes(b"half")
    (left / "stray").touch() if name == "resume" else None
    folder = published(tmp_path).read("pretrain", KEY)
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} == {*FILES, MANIFEST}


def test_processes_that_want_the_same_stage_compute_it_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMPUTE_ONCE, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(outputs) == ["", "computed\n"]
    assert ArtifactStore(tmp_path).outcome("pretrain", KEY) is not None


HOLD = """
import sys, time
from pathlib import Path
from steeplechase.ledger.paths import ResultPaths
with ResultPaths.of(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(600)
"""


def test_experiments_under_results_share_their_stages_and_others_are_complete_in_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = ResultPaths.default("table2", "demo"), ResultPaths.of(tmp_path / "elsewhere")
    assert inside.folder == Path(RESULTS) / "table2-demo"
    assert inside.stages.resolve() == tmp_path / RESULTS / "stages"
    assert ResultPaths.of(tmp_path / RESULTS / "mine").stages.resolve() == inside.stages.resolve()
    assert outside.stages == tmp_path / "elsewhere" / "stages"
    assert ResultPaths.of(Path(f"{RESULTS}/../elsewhere")).stages.resolve() == outside.stages


def test_results_have_their_stages_from_every_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, alone = tmp_path / RESULTS / "mine", tmp_path / RESULTS / "alone"
    for folder in (shared, tmp_path / RESULTS / "stages", alone / "stages", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    for written in (shared, Path("..") / RESULTS / "mine"):
        assert ResultPaths.of(written).stages == tmp_path / RESULTS / "stages"
        assert ResultPaths.of(written).folder == written
    assert ResultPaths.of(alone).stages == alone / "stages"
    monkeypatch.chdir(tmp_path)
    assert ResultPaths.of(alone).stages == alone / "stages"


def test_results_know_their_stages_after_the_parent_was_renamed(tmp_path: Path) -> None:
    folder = tmp_path / RESULTS / "group" / "mine"
    (tmp_path / RESULTS / "stages").mkdir(parents=True)
    ResultPaths.of(folder).make()
    assert (folder / "stage_store").read_text() == "../..\n"
    (tmp_path / RESULTS).rename(tmp_path / "former")
    moved = tmp_path / "former" / "group" / "mine"
    assert ResultPaths.of(moved).stages == tmp_path / "former" / "stages"
    for wrong in ("/", str(tmp_path), "../../elsewhere", "", "a/..", "..\\.."):
        (moved / "stage_store").write_text(wrong)
        assert ResultPaths.of(moved).root == moved
    alone = moved.rename(tmp_path / "alone")
    assert ResultPaths.of(alone).stages == alone / "stages"


def test_a_folder_without_write_permission_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot be written to") as refused:
        ResultPaths.of(tmp_path / "file").make()
    assert str(tmp_path / "file") in str(refused.value)
    with pytest.raises(MachineError, match=f"below: {tmp_path}/file is a file, not a folder; name another folder"):
        ResultPaths.of(tmp_path / "file" / "below").make()


def test_a_second_run_is_rejected_with_the_first_ones_process_id_until_it_ends(tmp_path: Path) -> None:
    places = ResultPaths.of(tmp_path)
    with places.locked(), pytest.raises(ConflictError, match=f"process {os.getpid()} is running"), places.locked():
        pass
    with places.locked():
        pass


def test_a_killed_run_releases_its_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(ConflictError, match=f"process {holder.pid} is running"),
            ResultPaths.of(tmp_path).locked(),
        ):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with ResultPaths.of(tmp_path).locked():
            pass
