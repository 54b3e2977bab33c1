"""A results folder moved, copied, cut or mixed with another; then `run` or `report`, from any working directory."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tools.faults.images import Images, images
from tools.faults.row import Attempt
from tools.faults.runs import EXPERIMENTS, LONGEST_SECONDS, differences, run, variables, wrong_end
from tools.faults.warm import emptied, start

A_BATCH = 10
REFUSED = (4, 5, 6, 7)
PARTS = (
    "ledger.sqlite",
    "stages",
    "reused",
    "report.*",
    "tables",
    "figures",
    "mlflow.db*",
    "artifacts",
    "stages/*",
    "stages/*/*",
)


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Disturb some copies; judge what `run` or `report` gives of each."""
    found = Attempt()
    while sum(found.caused.values()) < A_BATCH:
        name = chance.choice(sorted(EXPERIMENTS))
        source, other = images(scratch, name), images(scratch, next(each for each in EXPERIMENTS if each != name))
        moment, how = chance.choice(sorted(source.by_moment)), chance.choice(sorted(WAYS))
        folder = source.copy(moment, emptied(scratch / "moved") / name)
        disturbed, what = WAYS[how](chance, folder, (source, other))
        is_run = chance.random() < 0.5 or not (disturbed / "ledger.sqlite").is_file()
        wrong = _run(scratch, source, disturbed) if is_run else _report(chance, scratch, source, disturbed, moment)
        found.caused[how] += 1
        found.wrong += [f"{name}, {moment}, {how} {what}, {'run' if is_run else 'report'}: {line}" for line in wrong]
    return found


def _run(scratch: Path, source: Images, folder: Path) -> list[str]:
    command = run(scratch, source.expected.file, folder, 1)
    code = command.wait(LONGEST_SECONDS)
    return wrong_end(command, code, (0, *REFUSED)) + (differences(folder, source.expected) if code == 0 else [])


def _report(chance: random.Random, scratch: Path, source: Images, folder: Path, moment: str) -> list[str]:
    """Print the table; a killed run's must be what the same folder gives undisturbed."""
    asked = ("--format", "csv")
    command = start(("report", folder, *asked), scratch / "log", None, **variables(scratch, mirrored=False))
    code = command.wait(LONGEST_SECONDS)
    if wrong := wrong_end(command, code, (0, *REFUSED)):
        return wrong
    undisturbed = start(("report", source.by_moment[moment], *asked), scratch / "undisturbed")
    undisturbed.wait(LONGEST_SECONDS)
    return ["another table"] * (code == 0 and _table(command.text) != _table(undisturbed.text))


def _table(text: str) -> list[str]:
    """Return the lines of a table, without the warnings before it."""
    return [line for line in text.splitlines() if not line.startswith(("warning:", "steeplechase"))]


def _move(chance: random.Random, folder: Path, _: tuple[Images, Images]) -> tuple[Path, str]:
    target = folder.parent / chance.choice(("renamed", "a b", "deep/er", "results/x", "été", "-x"))
    target.parent.mkdir(exist_ok=True)
    return folder.rename(target), target.name


def _copy(chance: random.Random, folder: Path, _: tuple[Images, Images]) -> tuple[Path, str]:
    target = folder.parent / "copy"
    shutil.copytree(folder, target)
    for path in target.rglob("*"):
        path.touch()
    if chance.random() < 0.5:
        shutil.rmtree(folder)
        return target, "touched, the first one gone"
    return target, "touched, beside the first one"


def _cut(chance: random.Random, folder: Path, _: tuple[Images, Images]) -> tuple[Path, str]:
    removed = []
    for _number in range(chance.choice((1, 1, 3))):
        present = sorted({path for part in PARTS for path in folder.glob(part)})
        if present:
            path = chance.choice(present)
            removed.append(str(path.relative_to(folder)))
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder, ", ".join(removed)


def _mix(chance: random.Random, folder: Path, sources: tuple[Images, Images]) -> tuple[Path, str]:
    """Overlay with parts of the other experiment's folder, or of this one at another moment."""
    source = chance.choice(sources)
    moment = chance.choice(sorted(source.by_moment))
    other = source.by_moment[moment]
    parts = sorted({path for part in PARTS for path in other.glob(part)})
    chosen = parts if chance.random() < 0.3 else chance.sample(parts, min(len(parts), chance.choice((1, 2, 4))))
    for path in chosen:
        target = folder / path.relative_to(other)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, target, dirs_exist_ok=True) if path.is_dir() else shutil.copyfile(path, target)
    whose = "the other experiment's" if source is sources[1] else "its own"
    return folder, f"with {whose} {moment} {'folder' if chosen == parts else ', '.join(path.name for path in chosen)}"


WAYS: dict[str, Callable[[random.Random, Path, tuple[Images, Images]], tuple[Path, str]]] = {
    "moved": _move,
    "copied": _copy,
    "cut": _cut,
    "mixed": _mix,
}
