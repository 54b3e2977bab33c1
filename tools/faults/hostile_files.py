"""Hostile single files: valid ones mutated, by words and by bytes, and values that aim at something."""

import gzip
import json
import lzma
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.faults.images import images
from tools.faults.runs import EXPERIMENTS
from tools.faults.warm import emptied, start

Arguments = tuple[str | Path, ...]
VALUES = json.loads(Path(__file__).with_name("hostile_values.json").read_text())
AIMED = (*VALUES["aimed"], "x" * 100_000, ["a"] * 2000, {str(number): number for number in range(500)})
MODULE = {
    "kind": "module", "arguments": {"command": "touch ../secret"}, "width": 32, "embedding_width": 32,
    "vocabulary_size": 600, "positions": 64,
}  # fmt: skip
TEXTS = (*VALUES["texts"], "[" * 20_000, "{a: " * 3_000, "\ufeff" * 50)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value of a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from leaves(each, (*path, key))


def changed(chance: random.Random, document: Any) -> Any:
    """Return a document with one value replaced, removed, doubled or renamed."""
    paths = [path for path in leaves(document) if path]
    if not paths:
        return chance.choice(AIMED)
    *way, last = chance.choice(paths)
    place = document
    for key in way:
        place = place[key]
    how = chance.randrange(5)
    if how < 3:
        place[last] = chance.choice(AIMED)
    elif how == 3:
        del place[last]
    elif isinstance(place, dict):
        place[chance.choice([str(each)[:300] for each in AIMED])] = place[last]
    else:
        place.extend(place[:] * chance.choice((1, 30)))
    return document


def changed_bytes(chance: random.Random, content: bytes) -> bytes:
    """Return bytes with a few of them flipped, cut, inserted, or a part of them repeated."""
    result = bytearray(content)
    for _ in range(chance.choice((1, 1, 3, 20))):
        at, how = chance.randrange(len(result) + 1), chance.randrange(5)
        if how == 0 and result:
            result[at % len(result)] ^= 1 << chance.randrange(8)
        elif how == 1:
            del result[at:]
        elif how == 2:
            result[at:at] = chance.choice(
                (b"\x00", b"\xff\xfe", b"\n", b"\t", b'"', b"[", b"1e999", chance.randbytes(9))
            )
        elif how == 3:
            del result[at : at + chance.randrange(1, 40)]
        else:
            result[at:at] = result[at : at + 60] * chance.choice((1, 500))
    return bytes(result[:2_000_000])


def experiment(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write a hostile experiment."""
    file, text = case / "experiment.yaml", chance.choice([*EXPERIMENTS.values()]).read_text()
    how = chance.randrange(8)
    if how < 4:
        document = yaml.safe_load(text)
        if chance.random() < 0.15:
            document["baseline"]["architecture"] = {**MODULE, "factory": chance.choice(AIMED[:6])}
        for _ in range(chance.choice((1, 1, 2, 5))):
            document = changed(chance, document)
        file.write_text(yaml.safe_dump(document, allow_unicode=True), "utf-8", "replace")
    elif how < 7:
        file.write_bytes(changed_bytes(chance, text.encode()))
    else:
        file.write_text(
            chance.choice((f"{text}\n{{}}", "{}", f"{text}\nextra: {{}}")).replace("{}", chance.choice(TEXTS))
        )
    return chance.choice((("plan", file), ("plan", file), ("describe", file)))


def _plain(chance: random.Random) -> list[Any]:
    steps, names = range(1, 5), [f"c{number}" for number in range(6)]
    points = [
        {"candidate": name, "step": step, "value": 9 - step * chance.random()} for name in names for step in steps
    ]
    return [{"direction": "min"}, *({**point, "config": {"rate": chance.random()}} for point in points)]


def _taskset(chance: random.Random) -> list[Any]:
    losses = {split: {"loss": [5 - chance.random() for _ in range(51)]} for split in ("train", "valid", "test")}
    return [{"hp": {"learning_rate": chance.random(), "beta1": 0.9}, **losses} for _ in range(5)]


def _nas_bench(chance: random.Random) -> list[Any]:
    return [{"id": n, "scores": {"glue": chance.random() * 90, "cola": 40.0}, "hparams": {"n": n}} for n in range(5)]


def curves(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write hostile curves in one of the formats, maybe packed."""
    make = chance.choice((_plain, _plain, _taskset, _nas_bench))
    document = make(chance)
    for _ in range(chance.choice((0, 1, 1, 3))):
        document = changed(chance, document)
    is_lines = make is _plain and isinstance(document, list)
    text = "\n".join(map(json.dumps, document)) if is_lines else json.dumps(document)
    content = text.encode()
    if chance.random() < 0.4:
        content = changed_bytes(chance, content)
    pack: Callable[[bytes], bytes] | None
    ending, pack = chance.choice((("", None), ("", None), (".gz", gzip.compress), (".xz", lzma.compress)))
    packed = pack(content) if pack else content
    if pack and chance.random() < 0.3:
        packed = changed_bytes(chance, packed)
    file = case / f"curves.json{'l' * is_lines}{ending}"
    file.write_bytes(packed)
    policy = chance.choice(("backtested_slopes", "fixed_budget", "slopes"))
    return "replay", file, "--seeds", "1", "--budget", "2", "--policy", policy


def predictions(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write a hostile labelled file and hostile predictions of it."""
    rows = [f"src\t{chance.randrange(2)}\t*\tA sentence of number {number}." for number in range(9)]
    guesses = ["index\tprediction", *(f"{number}\t{chance.randrange(2)}" for number in range(9))]
    labelled, guessed = ("\n".join(lines).encode() for lines in (rows, guesses))
    if chance.random() < 0.3:
        guessed = json.dumps(changed(chance, {str(n): chance.choice(("a", 1)) for n in range(9)})).encode()
    if chance.random() < 0.4:
        labelled = changed_bytes(chance, labelled)
    (case / "dev.tsv").write_bytes(labelled)
    ending = chance.choice(("tsv", "tsv", "json", "txt"))
    (case / f"guessed.{ending}").write_bytes(changed_bytes(chance, guessed))
    task = chance.choice(("cola", "cola", "sst2", "mnli", "squad", "multi30k_de_en"))
    return "score", task, "--data", case / "dev.tsv", "--predictions", case / f"guessed.{ending}"


@cache
def _model(scratch: Path) -> Path:
    """Export a model of the finished table in transformers' files."""
    folder = images(scratch, "table").by_moment["finished"]
    out = emptied(scratch / "exported") / "model"
    command = start(("export", folder, out, "--trial", "wide/1"), scratch / "log")
    assert command.wait(100) == 0, command.text
    return out


def imported(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write a hostile model of transformers."""
    folder = case / "model"
    shutil.copytree(_model(scratch), folder)
    for _ in range(chance.choice((1, 1, 2))):
        file = chance.choice(sorted(path for path in folder.iterdir() if path.is_file() and not path.is_symlink()))
        if file.suffix == ".json" and chance.random() < 0.7:
            document = json.loads(file.read_text())
            (document if isinstance(document, dict) else {})["auto_map"] = {"AutoModel": "../../secret--evil.Model"}
            file.write_text(json.dumps(changed(chance, document)))
        elif file.suffix == ".safetensors" and chance.random() < 0.5:
            content = file.read_bytes()
            size = int.from_bytes(content[:8], "little")
            header = json.dumps(changed(chance, json.loads(content[8 : 8 + size]))).encode()
            claimed = chance.choice((len(header), len(header), size, 2**40, 0))
            file.write_bytes(claimed.to_bytes(8, "little") + header + content[8 + size :])
        elif chance.random() < 0.2:
            file.unlink()
            file.symlink_to(chance.choice(("../../secret", "/dev/zero", "loop", ".")))
        else:
            file.write_bytes(changed_bytes(chance, file.read_bytes()))
    if chance.random() < 0.2:
        (folder / "pytorch_model.bin").write_bytes(b"cposix\nsystem\n(S'touch ../secret'\ntR.")
        (folder / "model.safetensors").unlink(missing_ok=True)
    return "import", folder, case.parent / "out"


def archive(chance: random.Random, scratch: Path, case: Path) -> Arguments:
    """Write an archive that grows to gigabytes, as curves or as a corpus."""
    size, kind = 2**30 * chance.choice((1, 4)), chance.choice(("json.gz", "jsonl.gz", "json.xz", "txt.gz", "jsonl"))
    file = case / f"{'text' if kind == 'txt.gz' else 'curves'}.{kind}"
    file.write_bytes(_bomb(size, chance.choice((b" ", b"[", b"\n", b"0")), kind))
    if kind != "txt.gz":
        return "replay", file, "--seeds", "1"
    document = yaml.safe_load(EXPERIMENTS["table"].read_text()) | {
        "corpus": {"kind": "text_files", "path": str(file)}
    }
    (case / "experiment.yaml").write_text(yaml.safe_dump(document))
    return "run", case / "experiment.yaml", "--out", case.parent / "out", "--workers", "1"


@cache
def _bomb(size: int, of: bytes, kind: str) -> bytes:
    """Return an archive of so many equal bytes; a gzip file may have many members."""
    member, whole = of * 2**24, size // 2**24
    if kind == "jsonl":
        return member[: 2**22]
    return (lzma.compress(member, preset=1) if kind.endswith("xz") else gzip.compress(member)) * whole
