"""Hostile results folders and object stores: sealed manifests and ledgers with values that aim at something."""

import json
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from configuration.plugins import Plugin
from foundation.schema import canonical_text, fingerprint
from ledger.artifacts import MANIFEST, StageManifest
from tools.faults.hostile_files import AIMED, VALUES, Arguments, changed
from tools.faults.images import FINISHED, images
from tools.faults.runs import run_arguments

PLUGIN = "import pathlib\npathlib.Path(__file__).with_name('ran').write_text('x')\n"


def results(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write a stranger's results folder and ask for something that reads it."""
    folder, out = case / "results", case.parent / "out"
    source = images(scratch, chance.choice(("table", "search")))
    source.copy(FINISHED, folder)
    for spoil in chance.sample((_ledger, _ledger, _manifests, _link, _store_file, _plugin), chance.choice((1, 1, 2))):
        spoil(chance, folder)
    commands: tuple[Arguments, ...] = (
        ("report", folder), ("report", folder, "--format", chance.choice(("csv", "json", "latex", "html"))),
        ("compare", folder), ("explore", folder, "--out", out), ("publish", folder, out), ("pilot", folder),
        ("export", folder, out, "--trial", "baseline/1"), ("submission", folder, out, "--trial", "baseline/1"),
        ("replay", folder, "--seeds", "1"), ("replay", folder, "--decisions"), ("search", "compare", folder),
        ("search", "export", folder, out), run_arguments(source.expected.file, folder, 1),
        (*run_arguments(source.expected.file, out, 1), "--reuse", folder),
    )  # fmt: skip
    return chance.choice(commands)


def store(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write an object store whose manifests are sealed and aim outside, and run an experiment on it."""
    source = images(scratch, "table")
    for manifest in sorted(source.by_moment[FINISHED].glob(f"stages/*/*/{MANIFEST}")):
        document = json.loads(manifest.read_text())
        for name, sha256 in document["files"].items():
            target = case / "files" / sha256
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(manifest.parent / name, target)
        place = case / "stages" / document["kind"] / f"{document['key']}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(_aimed(chance, document) if chance.random() < 0.3 else document))
    return *run_arguments(source.expected.file, case.parent / "out", 1), "--store", f"file://{case}"


def _aimed(chance: random.Random, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest, sealed again, with a file of another name, another hash, or another value."""
    files, how = manifest["files"], chance.randrange(3)
    name = chance.choice(sorted(files) or ["x"])
    if how == 0:
        files[chance.choice(VALUES["names"])] = files.pop(name, "0" * 64)
    elif how == 1:
        files[name] = chance.choice(("../../secret", "/etc/passwd", "../" * 8 + "etc/passwd", ""))
    else:
        manifest = changed(chance, manifest)
    try:
        return StageManifest.model_validate(manifest).sealed().model_dump()
    except ValueError:
        return manifest


def _manifests(chance: random.Random, folder: Path) -> None:
    for path in chance.sample(found := sorted(folder.glob(f"stages/*/*/{MANIFEST}")), min(4, len(found))):
        path.write_text(json.dumps(_aimed(chance, json.loads(path.read_text()))))


def _ledger(chance: random.Random, folder: Path) -> None:
    """Change values in some rows of the ledger and seal them again."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        for _ in range(chance.choice((1, 1, 3))):
            table = chance.choice(("facts", "facts", "arms", "trials", "records", "decisions"))
            rows = database.execute(f"SELECT sequence, name, content FROM {table}").fetchall()
            if not rows:
                continue
            place, name, text = chance.choice(rows)
            content = changed(chance, json.loads(text)) if text[:1] in "[{" else chance.choice(AIMED)
            if chance.random() < 0.2:
                name = str(chance.choice(AIMED))[:1000]
            _write(database, table, (place, name.encode(errors="replace").decode(), content))
        database.commit()


def _link(chance: random.Random, folder: Path) -> None:
    path = folder / chance.choice(VALUES["links"])
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)
    path.symlink_to(chance.choice(("../../secret", "../../home", "/dev/zero", path.name, ".")))


def _store_file(chance: random.Random, folder: Path) -> None:
    (folder / "object_store").write_text(
        chance.choice((*VALUES["urls"], str(chance.choice(AIMED))[:200])), "utf-8", "replace"
    )


def _plugin(chance: random.Random, folder: Path) -> None:
    """Add a copy of a plugin to the folder, as a run with `plugins:` leaves it, and name it in the ledger."""
    place = folder / "plugins" / "evil"
    files = {}
    for part in ("search_space/convolution", "tasks/corpora", "runners/training/optimisers"):
        file = place / part / "evil.py"
        file.parent.mkdir(parents=True)
        file.write_text(PLUGIN)
        files[".".join((*part.split("/"), "evil"))] = file
    sha256 = Plugin(place, files).sha256
    place.rename(place.with_name(sha256))
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        ((number, text),) = database.execute("SELECT sequence, content FROM facts WHERE name = 'document'").fetchall()
        if isinstance(document := json.loads(text), dict):
            _write(
                database, "facts", (number, "document", document | {"plugins": [{"path": "evil", "sha256": sha256}]})
            )
            database.commit()


def _write(database: sqlite3.Connection, table: str, row: tuple[int, str, Any]) -> None:
    """Write a row's content and its checksum; what JSON cannot say is left out."""
    place, name, content = row
    with suppress(ValueError, TypeError):
        text = canonical_text(content)
        command = f"UPDATE OR IGNORE {table} SET name = ?, content = ?, checksum = ? WHERE sequence = ?"
        database.execute(command, (name, text, fingerprint([place, name, text]), place))
