"""Files of a stranger: experiments, results folders, object stores, archives, imports, curves and predictions."""

import gzip
import json
import lzma
import os
import random
import resource
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from configuration.plugins import Plugin
from foundation.schema import canonical_text, fingerprint
from ledger.artifacts import MANIFEST, StageManifest
from tools.faults.damage import BYTE_DAMAGES
from tools.faults.layer import SCRATCH
from tools.faults.rows import Attempt
from tools.faults.runs import EXPERIMENTS, FINISHED, copied, image, run_arguments, variables, wrong_end
from tools.faults.warm import LOG, Command, emptied, orphans

Arguments = tuple[str | Path, ...]
A_BATCH = 50
ENDS = (0, 2, 3, 4, 5, 6, 7, 8)
CPU_SECONDS, WALL_SECONDS, MORE_MEMORY = 5.0, 60.0, 3 * 2**30
RUNS = 4.0
"""A run may take so many times the seconds of another command."""
VALUES = json.loads(Path(__file__).with_name("hostile.json").read_text())
AIMED = (*VALUES["aimed"], "x" * 100_000, ["a"] * 2000, {str(number): number for number in range(500)})
TEXTS = (*VALUES["texts"], "[" * 20_000, "{a: " * 3_000)
OUTSIDE = ("../../secret", "../../home", "/dev/zero", "loop", ".")
WRITES = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.symlink": 1,
    "os.link": 1,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.truncate": 0,
}
"""Events of Python's audit hooks, and which of their arguments is the path written."""
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect")
OWN = ("runners.count_module", "runners.executors.worker", "'--version'", "operators", "('127.0.0.1', 9)")
"""What a command of this project starts: its modules, the compiler of its operators, the tracking server not there."""


def hostile(chance: random.Random, found: Attempt) -> None:
    """Give some hostile files to the commands that read them; judge how each ends and what it did."""
    kinds = [*CASES]
    for _ in range(A_BATCH):
        kind = chance.choices(kinds, [CASES[each][0] for each in kinds])[0]
        place, report = emptied(SCRATCH / "hostile"), SCRATCH / "watched"
        (place / "case").mkdir()
        (place / "home").mkdir()
        (place / "secret").write_text("a line that no command may read")
        arguments = CASES[kind][1](chance, place / "case")
        report.write_text("")
        command = Command(
            arguments, variables() | {"HOME": str(place / "home")}, before=partial(_watch, place, report)
        )
        times = RUNS if arguments[0] == "run" else 1.0
        wrong = wrong_end(command, *ENDS, seconds=WALL_SECONDS * times)
        if command.cpu_seconds > CPU_SECONDS * times:
            wrong.append(f"{command.cpu_seconds:.1f} CPU s")
        found.caused[kind] += 1
        found.wrong += [
            f"{kind}, {' '.join(map(str, arguments[:2]))}: {line}"
            for line in [*wrong, *report.read_text().splitlines()[:3], *orphans()]
        ]


def _watch(place: Path, report: Path) -> None:
    """Limit memory; from now on report what this process and its forks do that a file must not cause."""
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + MORE_MEMORY, own + MORE_MEMORY))
    allowed = (place / "case", place / "out", place / "home", SCRATCH / "temporary", LOG, "/dev/null", "/proc")
    inside, is_busy = tuple(os.path.realpath(path) for path in allowed), [False]

    def is_fault(name: str, given: tuple[Any, ...]) -> bool:
        if name == "open":
            real = os.path.realpath(os.fsdecode(given[0]))
            is_writing = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            return real == str(place / "secret") or bool(is_writing and not real.startswith(inside))
        if name in WRITES:
            if any(isinstance(each, int) and each > 2 for each in given[1:]):  # relative to a descriptor
                return False
            parent, last = os.path.split(os.fsdecode(given[WRITES[name]]))
            return not f"{os.path.realpath(parent)}/{last}".startswith(inside)
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


def _changed(chance: random.Random, document: Any) -> Any:
    """Return a document with one value replaced, removed, doubled or renamed."""
    place = document
    while place:
        key = chance.choice([*place]) if isinstance(place, dict) else chance.randrange(len(place))
        if not isinstance(place[key], dict | list) or chance.random() < 0.3:
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


def _changed_bytes(chance: random.Random, content: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 3, 20))):
        content = BYTE_DAMAGES[chance.choice([*BYTE_DAMAGES])](chance, content)
    return content[:2_000_000]


def _experiment(chance: random.Random, case: Path) -> Arguments:
    file, text = case / "experiment.yaml", chance.choice([*EXPERIMENTS.values()]).read_text()
    how = chance.randrange(8)
    if how < 4:
        document = yaml.safe_load(text)
        if chance.random() < 0.15:
            document["baseline"]["architecture"] = {**VALUES["module"], "factory": chance.choice(AIMED[:6])}
        for _ in range(chance.choice((1, 1, 2, 5))):
            document = _changed(chance, document)
        file.write_text(yaml.safe_dump(document, allow_unicode=True), "utf-8", "replace")
    elif how < 7:
        file.write_bytes(_changed_bytes(chance, text.encode()))
    else:
        file.write_text(
            chance.choice((f"{text}\n{{}}", "{}", f"{text}\nextra: {{}}")).replace("{}", chance.choice(TEXTS))
        )
    return chance.choice(("plan", "plan", "describe")), file


def _curves(chance: random.Random, case: Path) -> Arguments:
    """Write curves in one of the formats, maybe packed."""
    kind = chance.choice(("lines", "lines", "taskset", "nas_bench"))
    document = json.loads(json.dumps(VALUES["curves"][kind]))
    for _ in range(chance.choice((0, 1, 1, 3))):
        document = _changed(chance, document)
    is_lines = kind == "lines" and isinstance(document, list)
    content = ("\n".join(map(json.dumps, document)) if is_lines else json.dumps(document)).encode()
    content = _changed_bytes(chance, content) if chance.random() < 0.4 else content
    ending, pack = chance.choice((("", bytes), ("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)))
    content = pack(content)
    file = case / f"curves.json{'l' * is_lines}{ending}"
    file.write_bytes(_changed_bytes(chance, content) if ending and chance.random() < 0.3 else content)
    policy = chance.choice(("backtested_slopes", "fixed_budget", "slopes"))
    return "replay", file, "--seeds", "1", "--budget", "2", "--policy", policy


def _predictions(chance: random.Random, case: Path) -> Arguments:
    """Write a labelled file and predictions of it."""
    labelled = "\n".join(
        f"src\t{chance.randrange(2)}\t*\tA sentence of number {number}." for number in range(9)
    ).encode()
    guessed = "\n".join(["index\tprediction", *(f"{number}\t{chance.randrange(2)}" for number in range(9))]).encode()
    if chance.random() < 0.3:
        guessed = json.dumps(_changed(chance, {str(number): chance.choice(("a", 1)) for number in range(9)})).encode()
    (case / "dev.tsv").write_bytes(_changed_bytes(chance, labelled) if chance.random() < 0.4 else labelled)
    file = case / f"guessed.{chance.choice(('tsv', 'tsv', 'json', 'txt'))}"
    file.write_bytes(_changed_bytes(chance, guessed))
    task = chance.choice(("cola", "cola", "sst2", "mnli", "squad", "multi30k_de_en"))
    return "score", task, "--data", case / "dev.tsv", "--predictions", file


@cache
def _model() -> Path:
    """Export a model of the finished table in transformers' files."""
    out = emptied(SCRATCH / "exported") / "model"
    command = Command(("export", image("table", FINISHED), out, "--trial", "wide/1"), variables())
    assert command.wait(100) == 0, command.text
    return out


def _imported(chance: random.Random, case: Path) -> Arguments:
    """Write a model of transformers."""
    folder = Path(shutil.copytree(_model(), case / "model"))
    file = chance.choice(sorted(path for path in folder.iterdir() if path.is_file()))
    content = file.read_bytes()
    if file.suffix == ".json" and chance.random() < 0.7:
        file.write_text(json.dumps(_changed(chance, json.loads(content) | {"auto_map": VALUES["auto_map"]})))
    elif file.suffix == ".safetensors" and chance.random() < 0.5:
        size = int.from_bytes(content[:8], "little")
        header = json.dumps(_changed(chance, json.loads(content[8 : 8 + size]))).encode()
        claimed = chance.choice((len(header), len(header), size, 2**40, 0))
        file.write_bytes(claimed.to_bytes(8, "little") + header + content[8 + size :])
    elif chance.random() < 0.2:
        file.unlink()
        file.symlink_to(chance.choice(OUTSIDE))
    else:
        file.write_bytes(_changed_bytes(chance, content))
    if chance.random() < 0.2:
        (folder / "pytorch_model.bin").write_bytes(b"cposix\nsystem\n(S'touch ../secret'\ntR.")
        (folder / "model.safetensors").unlink(missing_ok=True)
    return "import", folder, case.parent / "out"


def _archive(chance: random.Random, case: Path) -> Arguments:
    """Write an archive that grows to gigabytes, as curves or as a corpus."""
    kind = chance.choice(("json.gz", "jsonl.gz", "json.xz", "txt.gz"))
    file, member = case / f"archive.{kind}", chance.choice((b" ", b"[", b"\n", b"0")) * 2**24
    packed = lzma.compress(member, preset=1) if kind.endswith("xz") else gzip.compress(member)
    file.write_bytes(packed * chance.choice((64, 256)))
    if kind != "txt.gz":
        return "replay", file, "--seeds", "1"
    document = yaml.safe_load(EXPERIMENTS["table"].read_text()) | {
        "corpus": {"kind": "text_files", "path": str(file)}
    }
    (case / "experiment.yaml").write_text(yaml.safe_dump(document))
    return "run", case / "experiment.yaml", "--out", case.parent / "out", "--workers", "1"


def _folder(chance: random.Random, case: Path) -> Arguments:
    """Write a results folder and ask for something that reads it."""
    folder, out = copied(name := chance.choice([*EXPERIMENTS]), FINISHED, case / "results"), case.parent / "out"
    for spoil in chance.sample(
        (_ledger, _ledger, _manifests, _link, _object_store, _plugin), chance.choice((1, 1, 2))
    ):
        spoil(chance, folder)
    words = {"FOLDER": folder, "OUT": out, "EXPERIMENT": EXPERIMENTS[name]}
    return tuple(words.get(word, word) for word in chance.choice(VALUES["commands"]).split())


def _store(chance: random.Random, case: Path) -> Arguments:
    """Write an object store whose manifests are sealed and aim outside, and run an experiment on it."""
    (case / "files").mkdir()
    for manifest in sorted(image("table", FINISHED).glob(f"stages/*/*/{MANIFEST}")):
        document = json.loads(manifest.read_text())
        for name, sha256 in document["files"].items():
            shutil.copyfile(manifest.parent / name, case / "files" / sha256)
        place = case / "stages" / document["kind"] / f"{document['key']}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(_aimed(chance, document) if chance.random() < 0.3 else document))
    return *run_arguments(case.parent / "out", name="table"), "--store", f"file://{case}"


def _aimed(chance: random.Random, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest, sealed again, with a file of another name, another hash, or another value."""
    files, how = manifest["files"], chance.randrange(3)
    name = chance.choice(sorted(files) or ["x"])
    if how == 0:
        files[chance.choice(VALUES["names"])] = files.pop(name, "0" * 64)
    elif how == 1:
        files[name] = chance.choice(("../../secret", "/etc/passwd", "../" * 8 + "etc/passwd", ""))
    else:
        manifest = _changed(chance, manifest)
    with suppress(ValueError):
        return StageManifest.model_validate(manifest).sealed().model_dump()
    return manifest


def _manifests(chance: random.Random, folder: Path) -> None:
    for path in sorted(folder.glob(f"stages/*/*/{MANIFEST}"))[chance.randrange(4) :: 4]:
        path.write_text(json.dumps(_aimed(chance, json.loads(path.read_text()))))


def _link(chance: random.Random, folder: Path) -> None:
    path = folder / chance.choice(VALUES["links"])
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(chance.choice(OUTSIDE))


def _object_store(chance: random.Random, folder: Path) -> None:
    url = chance.choice((*VALUES["urls"], str(chance.choice(AIMED))[:200]))
    (folder / "object_store").write_text(url, "utf-8", "replace")


def _plugin(chance: random.Random, folder: Path) -> None:
    """Add a copy of a plugin to the folder, as a run with `plugins:` leaves it, and name it in the ledger."""
    place, files = folder / "plugins" / "evil", {}
    for part in ("search_space/convolution", "tasks/corpora", "runners/training/optimisers"):
        files[".".join((*part.split("/"), "evil"))] = file = place / part / "evil.py"
        file.parent.mkdir(parents=True)
        file.write_text("import pathlib\npathlib.Path(__file__).with_name('ran').write_text('x')\n")
    plugin = {"path": "evil", "sha256": Plugin(place, files).sha256}
    place.rename(place.with_name(plugin["sha256"]))
    _sealed_again(folder, "facts", "document", lambda document: document | {"plugins": [plugin]})


def _ledger(chance: random.Random, folder: Path) -> None:
    """Change values in some rows of the ledger and seal them again."""
    for _ in range(chance.choice((1, 1, 3))):
        table = chance.choice(("facts", "facts", "arms", "trials", "records", "decisions"))
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
            names = [name for (name,) in database.execute(f"SELECT DISTINCT name FROM {table}")]
        if names:
            _sealed_again(folder, table, chance.choice(names), partial(_changed, chance))


def _sealed_again(folder: Path, table: str, name: str, change: Callable[[Any], Any]) -> None:
    """Change the content of a row of the ledger and its checksum; what JSON cannot say is left out."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database, suppress(ValueError, TypeError):
        query = f"SELECT sequence, content FROM {table} WHERE name = ?"
        place, text = database.execute(query, (name,)).fetchone()
        content = canonical_text(change(json.loads(text)))
        values = (content, fingerprint([place, name, content]), place)
        database.execute(f"UPDATE {table} SET content = ?, checksum = ? WHERE sequence = ?", values)
        database.commit()


CASES: dict[str, tuple[int, Callable[[random.Random, Path], Arguments]]] = {  # with their shares
    "experiments": (8, _experiment), "curves": (5, _curves), "predictions": (4, _predictions), "imports": (4, _imported),
    "archives": (1, _archive), "folders": (6, _folder), "stores": (1, _store),
}  # fmt: skip
