"""Damage to one file or stage of a results folder, finished or killed; then the same command."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tools.faults.images import FINISHED, Images, images
from tools.faults.row import Attempt
from tools.faults.runs import EXPERIMENTS, LONGEST_SECONDS, differences, run, wrong_end
from tools.faults.warm import orphans

A_BATCH = 20
REFUSED = (4, 5, 7)
PAGE = 4096
SOME = {  # every kind of file is damaged as often as every other
    "ledger": ("ledger.sqlite*",),
    "manifests": ("stages/*/*/manifest.json",),
    "data stages": tuple(f"stages/{kind}/*/**/*.*" for kind in ("corpus", "tokens", "examples", "evaluation_set")),
    "trained stages": ("stages/pretrain/*/**/*.*", "stages/fine_tune/*/**/*.*"),
    "checkpoints of a killed stage": ("stages/unfinished/*/**/*.*",),
    "reports": ("report.*", "tables/*", "figures/*"),
    "MLflow": ("mlflow.db*", "artifacts/**/report.*"),
    "everything else": ("lock", "reused", "stages/progress/*", "stages/contamination/*/*"),
}
FOLDERS = ("stages/*/*", "stages/unfinished/*", "stages/*", "tables", "figures", "stages")


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Damage some copies, each in one place; run each on."""
    found, folder = Attempt(), scratch / "damaged"
    while sum(found.caused.values()) < A_BATCH:
        name = chance.choice(sorted(EXPERIMENTS))
        source = images(scratch, name)
        moment = chance.choice((FINISHED, FINISHED, *source.by_moment))
        source.copy(moment, folder)
        told = _damage_folder(chance, folder) if chance.random() < 0.15 else _damage_file(chance, folder, source)
        if told is None:
            continue
        kind, what = told
        command = run(scratch, source.expected.file, folder, 1)
        wrong = wrong_end(command, code := command.wait(LONGEST_SECONDS), (0, *REFUSED))
        if code == 0:
            wrong += [f"silent: {line}" for line in differences(folder, source.expected)]
        found.caused[f"{kind}: {'refused' if code else 'same'}"] += 1
        found.wrong += [f"{name}, {moment}, {what}: {line}" for line in wrong]
        found.wrong += orphans(10)
    return found


def _damage_file(chance: random.Random, folder: Path, source: Images) -> tuple[str, str] | None:
    """Damage a file; return its kind and what was done, None where there is none or nothing changed."""
    kind = chance.choice(sorted(SOME))
    files = sorted({path for some in SOME[kind] for path in folder.glob(some) if path.is_file()})
    if not files:
        return None
    path = chance.choice(files)
    how = chance.choice(sorted(DAMAGES))
    before, inside = path.read_bytes(), path.relative_to(folder)
    DAMAGES[how](chance, path)
    if how == "another":
        others = [other for other in files if other != path and other.suffix == path.suffix]
        others += [image / inside for image in source.by_moment.values() if (image / inside).is_file()]
        if not others:
            return None
        shutil.copyfile(chance.choice(others), path)
    if path.is_file() and not path.is_symlink() and path.read_bytes() == before:
        return None
    return kind, f"{inside} {how}"


def _damage_folder(chance: random.Random, folder: Path) -> tuple[str, str] | None:
    places = sorted({path for some in FOLDERS for path in folder.glob(some) if path.is_dir()})
    if not places:
        return None
    path, how = (
        chance.choice(places),
        chance.choice(("deleted", "emptied", "linked", "swapped", "copied over", "a file")),
    )
    siblings = sorted(other for other in path.parent.iterdir() if other.is_dir() and other != path)
    if how in ("swapped", "copied over"):
        if not siblings:
            return None
        other, aside = chance.choice(siblings), folder / "aside"
        path.rename(aside)
        if how == "swapped":
            other.rename(path)
            aside.rename(other)
        else:
            shutil.copytree(other, path)
            shutil.rmtree(aside)
    elif how == "linked":
        path.rename(folder / "aside")
        path.symlink_to(folder / "aside")
    else:
        shutil.rmtree(path)
        if how == "emptied":
            path.mkdir()
        elif how == "a file":
            path.write_text("not a folder")
    return "folders", f"{path.relative_to(folder)} {how}"


def _bytes(chance: random.Random, path: Path, change: Callable[[bytearray], None]) -> None:
    content = bytearray(path.read_bytes())
    if content:
        change(content)
    path.write_bytes(content)


def _flip(chance: random.Random, path: Path) -> None:
    def change(content: bytearray) -> None:
        for _ in range(chance.choice((1, 1, 8))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)

    _bytes(chance, path, change)


def _zero(chance: random.Random, path: Path) -> None:
    def change(content: bytearray) -> None:
        start = chance.randrange(len(content)) // PAGE * PAGE
        content[start : start + PAGE] = bytes(len(content[start : start + PAGE]))

    _bytes(chance, path, change)


def _cut(chance: random.Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) + 1)])


def _link(chance: random.Random, path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null" if chance.random() < 0.5 else "nowhere")


DAMAGES: dict[str, Callable[[random.Random, Path], object]] = {
    "flipped": _flip,
    "zeroed": _zero,
    "cut": _cut,
    "emptied": lambda _, path: path.write_bytes(b""),
    "deleted": lambda _, path: path.unlink(),
    "appended to": lambda chance, path: path.write_bytes(
        path.read_bytes() + chance.randbytes(chance.randrange(1, 99))
    ),
    "linked": _link,
    "another": lambda _chance, _path: None,  # replaced by an older copy, or by another file of its kind
}
