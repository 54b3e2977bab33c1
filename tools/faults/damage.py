"""Damage to one file or folder of results, and results moved, copied, cut or mixed; then `run` or `report`."""

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tools.faults import runs, warm
from tools.faults.layer import SCRATCH
from tools.faults.rows import Attempt

A_BATCH = 5
REFUSED = (4, 5, 6, 7)
REPLACEMENTS = ("deleted", "emptied", "linked", "linked to nothing", "of another kind", "another", "swapped")


def damage(chance: random.Random, found: Attempt) -> None:
    """Damage some copies, each in one place; run each on."""
    while found.caused.total() < A_BATCH:
        moment, kind = chance.choice((runs.FINISHED, *runs.MOMENTS)), chance.choice([*runs.VALUES["damaged"]])
        folder = runs.copied(chance.choice([*runs.EXPERIMENTS]), moment, SCRATCH / "damaged")
        parts = _parts(folder, runs.VALUES["damaged"][kind])
        inside = [path for path in parts if path.is_dir() == (kind == "folders")]
        if not inside:
            continue
        path = chance.choice(inside)
        how = chance.choice((*REPLACEMENTS, *(BYTE_DAMAGES if path.is_file() else ())))
        if how in BYTE_DAMAGES and path.is_file():
            for _ in range(chance.choice((1, 1, 8))):
                path.write_bytes(damaged(chance, path.read_bytes(), how))
        else:
            others = [each for each in inside if (each.parent, each.suffix) == (path.parent, path.suffix)]
            older = runs.image(folder.name, chance.choice([*runs.MOMENTS])) / path.relative_to(folder)
            _replace(path, how, chance.choice([*(each for each in others if each != path), older]))
        wrong, code = _run_on(folder, folder.name if kind == "ledger" else "")  # a lost row is a stage found
        found.caused[f"{kind}: {'refused' if code else 'same'}"] += 1
        found.wrong += [f"{folder.name}, {moment}, {path.relative_to(folder)} {how}: {line}" for line in wrong]


def _parts(folder: Path, patterns: list[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def damaged(chance: random.Random, content: bytes, how: str) -> bytes:
    """Replace some bytes of a content by others."""
    size, other = BYTE_DAMAGES[how]
    start = {"appended to": len(content), "emptied": 0}.get(how, chance.randrange(len(content) + 1))
    return content[:start] + other(chance, content[start : start + size]) + content[start + size :]


def _replace(path: Path, how: str, other: Path) -> None:
    """Put something else in place of a file or folder."""
    aside = path.rename(warm.emptied(SCRATCH / "aside") / path.name)
    if how == "linked":
        path.symlink_to(aside)
    elif how == "linked to nothing":
        path.symlink_to("nowhere")
    elif how in ("emptied", "of another kind"):
        path.mkdir() if aside.is_dir() == (how == "emptied") else path.touch()
    elif how in ("another", "swapped") and other.exists():
        shutil.copytree(other, path) if other.is_dir() else shutil.copyfile(other, path)
        if how == "swapped" and other.parent == path.parent:
            warm.remove(other)
            aside.rename(other)


def _run_on(folder: Path, name: str = "") -> tuple[list[str], int | None]:
    """Run a folder on; return what is wrong with its end or its table, and the exit code."""
    command = runs.run(folder, name=name)
    wrong = runs.wrong_end(command, 0, *REFUSED) + warm.orphans()
    silent = runs.differences(folder, name=name) if command.code == 0 else []
    return [*wrong, *(f"silent: {line}" for line in silent)], command.code


def _reported(folder: Path, undisturbed: Path) -> list[str]:
    """Print the table of a folder; it is refused, or what the same folder gives undisturbed."""
    tables = []
    for place in (folder, undisturbed):
        command = warm.Command("report", place, "--format", "csv")
        if (wrong := runs.wrong_end(command, 0, *REFUSED)) or command.code:
            return wrong
        lines = command.text.splitlines()
        tables.append([line for line in lines if not line.startswith(("warning:", "steeplechase"))])
    return ["silent: another table"] * (tables[0] != tables[1])


def moved(chance: random.Random, found: Attempt) -> None:
    """Disturb some copies; judge what `run` or `report` gives of each."""
    while found.caused.total() < A_BATCH:
        name, moment, how = chance.choice([*runs.EXPERIMENTS]), chance.choice([*runs.MOMENTS]), chance.choice([*WAYS])
        folder, what = WAYS[how](chance, runs.copied(name, moment, SCRATCH / "moved"))
        other_rows = what.endswith("folder") or (how == "mixed" and "ledger.sqlite" in what)
        is_run = chance.random() < 0.5 or other_rows or not (folder / "ledger.sqlite").is_file()
        wrong = _run_on(folder, name)[0] if is_run else _reported(folder, runs.image(name, moment))
        found.caused[how] += 1
        told = f"{name}, {moment}, {how} {what}, {'run' if is_run else 'report'}"
        found.wrong += [f"{told}: {line}" for line in wrong]


def _move(chance: random.Random, folder: Path) -> tuple[Path, str]:
    target = folder.parent / chance.choice(("renamed", "a b", "deep/er", "results/x", "été", "-x"))
    target.parent.mkdir(exist_ok=True)
    return folder.rename(target), target.name


def _copy(chance: random.Random, folder: Path) -> tuple[Path, str]:
    target = folder.parent / "copy"
    shutil.copytree(folder, target, copy_function=shutil.copyfile)
    if gone := chance.random() < 0.5:
        shutil.rmtree(folder)
    return target, f"touched, {'the first one gone' if gone else 'beside the first one'}"


def _cut(chance: random.Random, folder: Path) -> tuple[Path, str]:
    gone = chance.sample(_parts(folder, runs.VALUES["parts"]), chance.choice((1, 1, 3)))
    for path in gone:
        warm.remove(path)
    return folder, ", ".join(str(path.relative_to(folder)) for path in gone)


def _mix(chance: random.Random, folder: Path) -> tuple[Path, str]:
    """Overlay with parts of another experiment's folder, or of this one at another moment."""
    other = runs.image(chance.choice([*runs.EXPERIMENTS]), chance.choice([*runs.MOMENTS]))
    parts = _parts(other, runs.VALUES["parts"])
    chosen = chance.sample(parts, min(len(parts), chance.choice((1, 2, 4, 999))))
    for path in chosen:
        target = folder / path.relative_to(other)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, target, dirs_exist_ok=True) if path.is_dir() else shutil.copyfile(path, target)
    taken = "folder" if len(chosen) == len(parts) else ", ".join(path.name for path in chosen)
    return folder, f"with {other.parent.name}'s {taken}"


WAYS = {"moved": _move, "copied": _copy, "cut": _cut, "mixed": _mix}
"""How a folder of results is disturbed; each returns the folder to run, and what has been done."""
BYTE_DAMAGES: dict[str, tuple[int, Callable[[random.Random, bytes], bytes]]] = {
    "flipped": (1, lambda chance, part: bytes(byte ^ 1 << chance.randrange(8) for byte in part)),
    "zeroed": (4096, lambda _, part: bytes(len(part))),
    "cut": (sys.maxsize, lambda *_: b""),
    "emptied": (sys.maxsize, lambda *_: b""),
    "cut out of": (30, lambda *_: b""),
    "appended to": (0, lambda chance, _: chance.randbytes(chance.randrange(1, 99))),
    "inserted into": (0, lambda chance, _: chance.choice((b"\0", b"\xff\xfe", b"\n", b"\t", b'"', b"[", b"1e999"))),
    "doubled in part": (60, lambda chance, part: part * chance.choice((2, 500))),
}
"""How many bytes are replaced, and by what."""
