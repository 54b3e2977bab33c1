"""Stages in an object store: whole or absent, verified when they are copied, computed again after a cut upload."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from steeplechase.foundation.errors import ConfigurationError, ConflictError, CorruptionError, MachineError
from steeplechase.foundation.scratch import LOCK
from steeplechase.ledger.artifacts import ArtifactStore, Outcome, StageManifest
from steeplechase.ledger.object_artifacts import ObjectArtifactStore, artifact_store
from steeplechase.ledger.object_store import ObjectStore, refuse_url
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import Status
from tests.factories.keys import KEY

OUTCOME = Outcome(Status.FINISHED, {"held_out_loss": 5.25, "curve": [[1, 2.5]]}, 1.5)
FILES = {"weights.bin": b"\x01\x02" * 4096, "part/labels.txt": b"0\n1\n", "part/again.txt": b"0\n1\n"}
STAGE = ("pretrain", KEY)


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    place = {"file": f"file://{tmp_path}/objects", "memory": "memory://tests/objects"}[request.param]
    yield place
    if request.param == "memory":
        from fsspec import filesystem

        filesystem("memory").store.clear()


class CutOff(Exception):
    """The process ended."""


class FailingStore(ObjectStore):
    """An object store whose process ends at one of its writes, before or in the middle of it."""

    def __init__(self, url: str, writes: int) -> None:
        super().__init__(url)
        self.left = writes

    def upload(self, file: Path, name: str) -> None:
        self._count()
        super().upload(file, name)

    def write(self, name: str, content: bytes) -> None:
        self._count()
        super().write(name, content)

    def _count(self) -> None:
        if self.left == 0:
            raise CutOff
        self.left -= 1


def publish(store: ArtifactStore) -> None:
    with store.computing(STAGE[1]) as folder:
        for name, content in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        store.publish(*STAGE, folder, OUTCOME, {"tokens": KEY})


def files_of(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if name != "manifest.json"}


def test_another_machine_reads_what_was_published(url: str, tmp_path: Path) -> None:
    here, there = (artifact_store(tmp_path / name, url) for name in ("here", "there"))
    assert there.outcome(*STAGE) is None
    assert not there.has(*STAGE)
    publish(here)
    assert there.outcome(*STAGE) == here.outcome(*STAGE) == OUTCOME
    assert there.has(*STAGE)
    single = there.file(*STAGE, "part/labels.txt")
    assert single.read_bytes() == FILES["part/labels.txt"]
    assert not there.folder(*STAGE).exists()  # one file does not copy the stage
    assert files_of(there.read(*STAGE)) == files_of(here.read(*STAGE)) == FILES
    assert not there.file(*STAGE, "absent").exists()
    assert not list((tmp_path / "there" / "unfinished").iterdir())


@pytest.mark.parametrize("writes", range(len(FILES) + 1))
def test_a_cut_upload_is_no_finished_stage_and_is_computed_again(url: str, tmp_path: Path, writes: int) -> None:
    with pytest.raises(CutOff):
        publish(ObjectArtifactStore(tmp_path / "here", FailingStore(url, writes)))
    for place in ("here", "there"):
        assert artifact_store(tmp_path / place, url).outcome(*STAGE) is None
    publish(artifact_store(tmp_path / "here", url))
    assert files_of(artifact_store(tmp_path / "there", url).read(*STAGE)) == FILES


def test_the_first_of_two_results_is_kept(url: str, tmp_path: Path) -> None:
    first, second = (artifact_store(tmp_path / name, url) for name in ("first", "second"))
    with second.computing(STAGE[1]) as folder:
        publish(first)
        known = second.publish(*STAGE, folder, Outcome(Status.FINISHED, {"held_out_loss": 0.0}, 9.0))
    assert known == OUTCOME
    for place in ("first", "second", "third"):
        store = artifact_store(tmp_path / place, url)
        assert store.outcome(*STAGE) == OUTCOME
        assert files_of(store.read(*STAGE)) == FILES


@pytest.mark.parametrize("damage", [b"", b"other" * 999])
def test_a_damaged_object_is_an_error_and_a_damaged_copy_is_replaced(url: str, tmp_path: Path, damage: bytes) -> None:
    here = artifact_store(tmp_path / "here", url)
    publish(here)
    (here.folder(*STAGE) / "weights.bin").write_bytes(damage)
    assert files_of(artifact_store(tmp_path / "here", url).read(*STAGE)) == FILES
    objects = ObjectStore(url)
    manifest = objects.read(f"stages/pretrain/{KEY}.json")
    assert manifest is not None
    objects.write(f"stages/pretrain/{KEY}.json", manifest.replace(b"5.25", b"4.25"))
    with pytest.raises(CorruptionError, match="differs from what was written"):
        artifact_store(tmp_path / "there", url).outcome(*STAGE)
    objects.write(f"stages/pretrain/{KEY}.json", manifest)
    for each in ObjectStore(url)._files.ls(objects._path("files"), detail=False):
        objects._files.pipe_file(each, damage)
    there = artifact_store(tmp_path / "there", url)
    with pytest.raises(CorruptionError, match="differs from what was written"):
        there.read(*STAGE)
    assert not there.folder(*STAGE).exists()


@pytest.mark.parametrize("url", ["bucket/prefix", "s3://", "s3://user:password@bucket/x", "memory://x", "://x"])
def test_a_url_that_is_none_or_has_a_password_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        refuse_url(url)
    assert "password@" not in str(refused.value)


def test_a_results_folder_keeps_its_store(tmp_path: Path) -> None:
    paths = ResultPaths.of(tmp_path / "results")
    paths.make()
    assert (paths.objects, type(paths.store())) == ("", ArtifactStore)
    paths.use_objects("", begun=True)
    with pytest.raises(ConflictError, match="without --store"):
        paths.use_objects("file:///elsewhere", begun=True)
    paths.use_objects(f"file://{tmp_path}/objects/", begun=False)
    url = f"file://{tmp_path}/objects"
    paths.use_objects(url, begun=True)
    assert paths.objects == url
    with pytest.raises(ConflictError, match=f"run it again with --store {url}"):
        paths.use_objects("", begun=True)
    assert isinstance(paths.store(url), ObjectArtifactStore)
    with pytest.raises(ConflictError, match="its stages are in"):
        paths.store("file:///elsewhere")
    with pytest.raises(ConflictError, match="Did you mean another --out folder"):
        paths.use_objects("file:///elsewhere", begun=True)


@pytest.mark.parametrize("before", ["", "objects"])
def test_a_store_that_cannot_be_used_is_not_recorded(before: str, tmp_path: Path) -> None:
    paths = ResultPaths.of(tmp_path / "results")
    paths.make()
    recorded = before and f"file://{tmp_path}/{before}"
    paths.use_objects(recorded, begun=False)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(MachineError, match="file/refused"):
        paths.use_objects(f"file://{tmp_path}/file/refused", begun=False)
    assert paths.objects == recorded


HOSTILE = [
    {"/{home}/written": "{hash}"},
    {"../../../../written": "{hash}"},
    {"part/../../written": "{hash}"},
    {"C:\\written": "{hash}"},
    {"weights.bin": "{home}/secret"},
    {"weights.bin": "../objects/secret"},
]


@pytest.mark.parametrize("files", HOSTILE)
def test_a_manifest_of_a_store_names_no_file_outside_its_stage(files: dict[str, str], tmp_path: Path) -> None:
    url, home = f"file://{tmp_path}/objects", tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("of this machine")
    content = b"written"
    places = {"{home}": str(home), "{hash}": sha256(content).hexdigest()}
    for placeholder, value in places.items():
        files = {
            name.replace(placeholder, value): digest.replace(placeholder, value) for name, digest in files.items()
        }
    ObjectStore(url).write(f"files/{places['{hash}']}", content)
    known = {"kind": "pretrain", "key": KEY, "inputs": {}, "status": "finished", "result": {}, "files": files}
    manifest = StageManifest.model_construct(version=2, seconds=1.0, warm_up_seconds=None, **known).sealed()
    ObjectStore(url).write(f"stages/pretrain/{KEY}.json", manifest.model_dump_json(warnings=False).encode())
    before = sorted(tmp_path.rglob("*"))
    for name in ("weights.bin", *files):
        for asked in (lambda store: store.read(*STAGE), lambda store, name=name: store.file(*STAGE, name)):
            with pytest.raises(CorruptionError, match=r"manifest cannot be read|not a relative path"):
                asked(artifact_store(tmp_path / "there", url))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../../written", "/{home}", "part/../../../written"])
def test_a_name_is_checked_again_where_it_is_joined(name: str, tmp_path: Path) -> None:
    url, name = f"file://{tmp_path}/objects", name.replace("{home}", str(tmp_path / "written"))
    publish(artifact_store(tmp_path / "here", url))
    store = artifact_store(tmp_path / "there", url)
    assert isinstance(store, ObjectArtifactStore)
    manifest = store._manifest(*STAGE)
    assert manifest is not None
    files = {name: manifest.files["weights.bin"]}
    store._manifests[STAGE] = manifest.model_copy(update={"files": files})  # as if it had not been checked
    for asked in (lambda: store.read(*STAGE), lambda: store.file(*STAGE, name)):
        with pytest.raises(CorruptionError, match="not a relative path"):
            asked()
    assert not list(tmp_path.rglob("written"))


def test_a_recorded_store_is_not_contacted_and_its_copies_are_read(tmp_path: Path) -> None:
    url, paths = f"file://{tmp_path}/objects", ResultPaths.of(tmp_path / "results")
    paths.make()
    publish(artifact_store(tmp_path / "here", url))
    paths.use_objects(url, begun=False)
    given = paths.store(url)
    part = given.file(*STAGE, "part/labels.txt")
    recorded = paths.store()  # which could be contacted
    assert recorded.file(*STAGE, "part/labels.txt") == part
    assert not recorded.has(*STAGE)
    assert not recorded.file(*STAGE, "weights.bin").exists()
    assert recorded.whereabouts == f"only the object store has them; if you trust it, add --store {url}"


@pytest.mark.parametrize(
    "url", ["http://[bad", "s3://user:password@bucket/x", "no url", "s3://b/\x1b[2J", "memory://x"]
)
def test_a_recorded_url_is_checked(url: str, tmp_path: Path) -> None:
    paths = ResultPaths.of(tmp_path)
    (tmp_path / "object_store").write_text(url)
    with pytest.raises(CorruptionError, match="object_store: ") as refused:
        paths.store()
    assert "password" not in str(refused.value).replace("user and password", "")


def test_a_probe_leaves_nothing_where_its_user_fails(tmp_path: Path) -> None:
    store = ObjectStore(f"file://{tmp_path}/objects")
    with pytest.raises(ZeroDivisionError), store.probe("token"):
        raise ZeroDivisionError
    assert not store.answers("token")


def test_a_write_that_fails_leaves_no_part_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(f"file://{tmp_path}/objects")

    def cut_off(path: str, content: bytes) -> None:
        Path(path).parent.mkdir(parents=True)
        Path(path).write_bytes(content[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store._files, "pipe_file", cut_off)
    with pytest.raises(MachineError, match="No space left on device"):
        store.write("name", b"content")
    assert files_of(tmp_path) == {}


def test_what_a_killed_copy_left_is_removed_by_the_next(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/objects"
    publish(artifact_store(tmp_path / "here", url))
    left = tmp_path / "there" / "unfinished" / "copy-left"
    left.mkdir(parents=True)
    (left / LOCK).write_text("")
    artifact_store(tmp_path / "there", url).read(*STAGE)
    assert not left.exists()
