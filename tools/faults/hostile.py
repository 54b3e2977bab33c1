"""Files of a stranger: experiments, results folders, object stores, archives, models, curves and predictions.

For every reader there are valid files and the commands that read them. A case is a copy of them in which files are
spoilt by their kind, by words or by bytes, and sealed again. No command may write outside, read a secret, connect,
start or run code because of a stranger's file.
"""

import gzip
import json
import lzma
import os
import random
import shutil
import sqlite3
import sys
import zlib
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from steeplechase.configuration.plugins import Plugin
from steeplechase.foundation.canonical import canonical_text, fingerprint
from steeplechase.ledger.artifacts import StageManifest
from tools.faults import runs, warm
from tools.faults.damage import BYTE_DAMAGES, damaged
from tools.faults.layer import SCRATCH
from tools.faults.rows import Attempt

MORE_MEMORY = 3 * 2**30
WRITES, STARTS, OWN = (tuple(runs.VALUES[name]) for name in ("writes", "starts", "starts of this project"))
"""Events of Python's audit hooks; OWN: modules, the compiler of operators, a server not there, the names of GPUs."""
A_BATCH = 10
ENDS = (0, 2, 3, 4, 5, 6, 7, 8, 75)
CPU_SECONDS, WALL_SECONDS, RUNS = 5.0, 60.0, 4.0
"""A run may take RUNS times the seconds of another command."""
AIMED = (*runs.VALUES["aimed"], "x" * 100_000, ["a"] * 2000, {str(number): number for number in range(500)})
TEXTS = (*runs.VALUES["texts"], "[" * 20_000, "{a: " * 3_000)
OFTEN = (".sqlite", ".json", ".jsonl", ".yaml")
PACKED: dict[str, Any] = {".gz": gzip, ".xz": lzma}


def hostile(chance: random.Random, found: Attempt) -> None:
    """Give some hostile files to the commands that read them; judge how each ends and what it did."""
    runs.reference("table")  # compiles the operators, which no file causes
    shares = {reader: share for reader, (share, *_) in runs.VALUES["commands"].items()}
    for _ in range(A_BATCH):
        reader = chance.choices([*shares], [*shares.values()])[0]
        place, seen = warm.emptied(SCRATCH / "hostile"), SCRATCH / "seen"
        for name in ("home", "made"):
            (place / name).mkdir()
        (place / "secret").write_text("a line that no command may read")
        seen.write_text("")
        case = Path(shutil.copytree(_valid(reader), place / "case", symlinks=True))
        template = chance.choice(runs.VALUES["commands"][reader][1:])
        words = template.replace("CASE", str(case)).replace("OUT", str(place / "made" / "out")).split()
        _plant(chance, reader, case)
        for _spoilt_file in range(chance.choice((1, 1, 2)) if reader != "archives" else 0):
            paths = sorted(path for path in case.rglob("*") if path.is_file() or reader == "folders")
            paths = [path for path in paths if str(path) in words and path.is_file()] or paths
            often = [path for path in paths if path.suffix in OFTEN]
            _spoil(chance, chance.choice(often if often and chance.random() < 0.6 else paths))
        home, before = {"HOME": str(place / "home")}, partial(_guard, place, seen)
        command = warm.Command(*words, variables=home, before=before)
        times = RUNS if words[0] == "run" else 1.0
        wrong = runs.wrong_end(command, *ENDS, seconds=WALL_SECONDS * times) + seen.read_text().splitlines()[:3]
        wrong += [f"{command.cpu_seconds:.1f} CPU s"] * (command.cpu_seconds > CPU_SECONDS * times)
        found.caused[reader] += 1
        found.wrong += [f"{reader}, {template}: {line}" for line in wrong + warm.orphans()]


def _guard(place: Path, report: Path) -> None:
    """Limit memory; from now on report what this process and its forks do that a file must not cause."""
    sys.dont_write_bytecode = True  # of a library that is imported here for the first time
    warm.limit_memory(MORE_MEMORY)
    allowed = (place / "case", place / "made", place / "home", SCRATCH / "temporary", warm.LOGS, "/dev/null", "/proc")
    inside, is_busy = tuple(os.path.realpath(path) for path in allowed), [False]

    def is_fault(name: str, given: tuple[Any, ...]) -> bool:
        if name == "open":
            real = os.path.realpath(os.fsdecode(given[0]))
            is_writing = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            return real == str(place / "secret") or bool(is_writing and not real.startswith(inside))
        if name in WRITES:
            if name != "os.truncate" and given[-1] > 2:  # relative to a descriptor
                return False
            parents = [os.path.split(os.fsdecode(each)) for each in given if isinstance(each, str | bytes)]
            return not all(f"{os.path.realpath(parent)}/{last}".startswith(inside) for parent, last in parents)
        if name == "exec":
            return bool(given[0].co_filename.startswith(str(place)))
        return name in STARTS and not any(own in str(given) for own in OWN)

    def hook(name: str, given: tuple[Any, ...]) -> None:
        if not is_busy[0]:
            is_busy[0] = True
            with suppress(Exception):  # descriptors in place of paths, and what else has no name
                if is_fault(name, given):
                    with report.open("a") as file:
                        file.write(f"{name} {str(given[:2])[:200]}\n")
            is_busy[0] = False

    sys.addaudithook(hook)


@cache
def _valid(reader: str) -> Path:
    """Return a folder with valid files of a reader."""
    place, table = warm.emptied(SCRATCH / "valid" / reader), yaml.safe_load(runs.EXPERIMENTS["table"].read_text())
    for name, lines in runs.VALUES["files"].get(reader, {}).items():
        (place / name).write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        for ending, module in PACKED.items() if reader == "curves" else ():
            (place / f"{name}{ending}").write_bytes(module.compress((place / name).read_bytes()))
    if reader == "models":
        warm.Command("export", runs.image("table", runs.FINISHED), place / "model", "--trial", "wide/1").wait()
    elif reader == "folders":
        for name in runs.EXPERIMENTS:
            shutil.copytree(runs.image(name, runs.FINISHED), place / name, symlinks=True)
    elif reader == "stores":
        words = runs.run_arguments(place.with_name("stored"), name="table")
        warm.Command(*words, "--store", f"file://{place}").wait()
    elif reader == "experiments":
        table["baseline"]["architecture"] = runs.VALUES["module"]
        (place / "module.yaml").write_text(yaml.safe_dump(table))
    for name, file in runs.EXPERIMENTS.items() if reader in ("experiments", "folders", "stores") else ():
        shutil.copyfile(file, place / f"{name}.yaml")
    return place


def _plant(chance: random.Random, reader: str, case: Path) -> None:
    """Add what aims at something: a factory, a pickle, a store, a plugin of a results folder, an archive."""
    if reader == "experiments":
        file = case / "module.yaml"
        file.write_text(file.read_text().replace("FACTORY", chance.choice(runs.VALUES["factories"])))
    elif reader == "models" and chance.random() < 0.2:
        (case / "model" / "pytorch_model.bin").write_bytes(b"cposix\nsystem\n(S'touch ../secret'\ntR.")
        (case / "model" / "model.safetensors").unlink()
    elif reader == "folders" and chance.random() < 0.3:
        for name in runs.EXPERIMENTS:
            (case / name / "object_store").write_text(chance.choice(runs.VALUES["urls"]))
            _plugin(case / name)
    elif reader == "archives":
        table = yaml.safe_load(runs.EXPERIMENTS["table"].read_text())
        corpus = {"kind": "text_files", "path": str(case / "archive.txt.gz")}
        (case / "archive.yaml").write_text(yaml.safe_dump(table | {"corpus": corpus}))
        member, times = chance.choice((b" ", b"[", b"\n", b"0")) * 2**24, chance.choice((64, 256))
        for name in ("archive.json.gz", "archive.jsonl.gz", "archive.json.xz", "archive.txt.gz"):
            (case / name).write_bytes(PACKED[Path(name).suffix].compress(member) * times)


def _plugin(folder: Path) -> None:
    """Add a copy of a plugin to the folder, as a run with `plugins:` leaves it, and name it in the ledger."""
    place, files = folder / "plugins" / "evil", {}
    for part in ("search_space/convolution", "tasks/corpora", "runners/training/optimisers"):
        files[".".join((*part.split("/"), "evil"))] = file = place / part / "evil.py"
        file.parent.mkdir(parents=True)
        file.write_text("import pathlib\npathlib.Path(__file__).with_name('ran').write_text('x')\n")
    plugin = {"path": "evil", "sha256": Plugin(place, files).sha256}
    place.rename(place.with_name(plugin["sha256"]))
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        number, text = ledger.execute("SELECT sequence, content FROM facts WHERE name = 'document'").fetchone()
        _write(ledger, "facts", number, "document", json.loads(text) | {"plugins": [plugin]})


def _spoil(chance: random.Random, path: Path) -> None:
    """Spoil a file by its kind, or link it to something outside."""
    if path.is_dir() or path.is_symlink() or chance.random() < 0.05:
        warm.remove(path)
        path.symlink_to(chance.choice(("../../secret", "../../home", "/dev/zero", path.name, ".")))
    elif path.name == "ledger.sqlite":
        with closing(sqlite3.connect(path)) as ledger:
            table = chance.choice(("facts", "facts", "arms", "trials", "records", "decisions"))
            if rows := ledger.execute(f"SELECT sequence, name, content FROM {table}").fetchall():
                number, name, text = chance.choice(rows)
                _write(ledger, table, number, name, _changed(chance, json.loads(text)))
    elif (module := PACKED.get(path.suffix)) and chance.random() < 0.7:
        with suppress(OSError, EOFError, lzma.LZMAError, zlib.error):  # what has been spoilt before stays
            content = module.decompress(path.read_bytes())
            path.write_bytes(module.compress(_spoilt(chance, path.with_suffix("").suffix, content)))
    else:
        path.write_bytes(_spoilt(chance, path.suffix, path.read_bytes()))


def _write(ledger: sqlite3.Connection, table: str, number: int, name: str, value: Any) -> None:
    """Write a row's content and its checksum; what JSON cannot say is left out."""
    with suppress(ValueError, TypeError):
        content = canonical_text(value)
        values = (content, fingerprint([number, name, content]), number)
        ledger.execute(f"UPDATE {table} SET content = ?, checksum = ? WHERE sequence = ?", values)
        ledger.commit()


def _spoilt(chance: random.Random, suffix: str, content: bytes) -> bytes:
    """Change values of a document, or bytes where there is none."""
    with suppress(ValueError, RecursionError, yaml.YAMLError):  # what has been spoilt before
        suffix = suffix if chance.random() < 0.6 else ""
        if suffix == ".json":
            return json.dumps(_sealed(_changed(chance, json.loads(content)))).encode()
        if suffix == ".jsonl":
            rows = _changed(chance, [json.loads(line) for line in content.splitlines()])
            return "\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])).encode()
        if suffix == ".yaml" and chance.random() < 0.2:
            return content.replace(b"\nquestion", f"\nextra: {chance.choice(TEXTS)}\nquestion".encode())
        if suffix == ".yaml":
            return yaml.safe_dump(_changed(chance, yaml.safe_load(content))).encode("utf-8", "replace")
        if suffix == ".safetensors":
            size = int.from_bytes(content[:8], "little")
            header = json.dumps(_changed(chance, json.loads(content[8 : 8 + size]))).encode()
            claimed = chance.choice((len(header), len(header), size, 2**40, 0))
            return claimed.to_bytes(8, "little") + header + content[8 + size :]
    for _ in range(chance.choice((1, 1, 3, 20))):
        content = damaged(chance, content, chance.choice([*BYTE_DAMAGES]))
    return content[:2_000_000]


def _sealed(document: Any) -> Any:
    """Return a manifest with its seal made anew, another document as it is."""
    with suppress(ValueError):
        return StageManifest.model_validate(document).sealed().model_dump()
    return document


def _changed(chance: random.Random, document: Any) -> Any:
    """Return a document with one value replaced, removed, doubled or renamed."""
    place = document if isinstance(document, dict | list) else {}
    while place:
        key = chance.choice([*place]) if isinstance(place, dict) else chance.randrange(len(place))
        if not place[key] or not isinstance(place[key], dict | list) or chance.random() < 0.3:
            break
        place = place[key]
    if not place:
        return chance.choice(AIMED)
    how = chance.randrange(5)
    if how < 3:
        place[key] = chance.choice(AIMED)
    elif how == 3:
        del place[key]
    elif isinstance(place, dict):
        place[str(chance.choice(AIMED))[:300]] = place[key]
    else:
        place.extend(place[:] * chance.choice((1, 30)))
    return document
