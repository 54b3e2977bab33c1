"""Mutated SQuAD files are refused with messages or read with all their questions, never with a traceback."""

import json
import random
from pathlib import Path
from typing import Any

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.labelled.task import Version
from steeplechase.tasks.squad.questions import SquadFile, read_squad
from steeplechase.tasks.squad.windows import encode_windows
from steeplechase.tasks.tokenizer import Tokenizer
from tests.factories.squad_files import document, question, write

TEXT = "Der Müller’s 1st  mill, built in 1066 by the Normans (sic) — on a river."
VALUES: tuple[Any, ...] = (None, True, 0, -1, 10**30, 1.5, "", "x", " ", [], {}, [None], {"id": 1}, "\ud83d")
BYTES = (b"", b"\x00", b"\xff", b'"', b"{", b"]", b",", b"\\ud800", b"\\", b"1e999", b"\xe2\x80", b"\n")
MUTATIONS = 400


def whole(version: Version) -> dict[str, Any]:
    impossible = None if version == "v1.1" else False
    questions = [
        question(f"{place}", f"Question {place}?", (word, TEXT.index(word)), impossible=impossible)
        for place, word in enumerate(["Müller’s", "1066", "Normans", "river."])
    ]
    if version == "v2.0":
        questions.append(question("none", "And why?", impossible=True))
    return document((TEXT, questions[:2]), (TEXT, questions[2:]))


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value in a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [each for key in keys for each in ((value, key), *nodes(value[key]))]


def mutated_tree(version: Version, chance: random.Random) -> bytes:
    content = whole(version)
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(nodes(content))
        action = chance.choice(["replace", "remove", "repeat"])
        if action == "replace":
            holder[key] = chance.choice(VALUES)
        elif action == "remove":
            del holder[key]
        elif isinstance(holder, list):
            holder.append(holder[key])
        if not nodes(content):
            break
    return json.dumps(content, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def mutated_bytes(version: Version, chance: random.Random) -> bytes:
    raw = json.dumps(whole(version), indent=chance.choice([None, 1]), ensure_ascii=False).encode()
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(raw))
        raw = raw[:place] + chance.choice(BYTES) + raw[place + chance.randint(0, 8) :]
    return raw


def read_or_refused(path: Path, version: Version) -> SquadFile | tuple[str, ...]:
    """Return the questions of a file, or the lines of its error."""
    try:
        return read_squad(path, version)
    except DataError as refusal:
        return refusal.lines


def asked_in(raw: bytes) -> int:
    """Return the number of questions of a file, duplicate fields included."""
    count = 0

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal count
        count += sum(len(value) for name, value in pairs if name == "qas" and isinstance(value, list))
        return dict(pairs)

    json.loads(raw.decode("utf-8-sig"), object_pairs_hook=take)
    return count


def test_no_mutation_gives_a_traceback_or_loses_a_question(tmp_path: Path, tokenizer: Tokenizer) -> None:
    chance = random.Random(20)
    refused = 0
    for turn in range(MUTATIONS):
        version: Version = ("v1.1", "v2.0")[turn % 2]
        raw = (mutated_tree if turn % 4 < 2 else mutated_bytes)(version, chance)
        path = tmp_path / "mutated.json"
        path.write_bytes(raw)
        file = read_or_refused(path, version)
        if not isinstance(file, SquadFile):
            assert file
            assert all(line.startswith(("mutated.json:", "…")) for line in file)
            assert all("\n" not in line and len(line) < 300 for line in file)
            refused += 1
            continue
        assert len(file.questions) == asked_in(raw)
        windows = encode_windows(file.questions, tokenizer, 80)
        assert set(windows.questions.tolist()) == set(range(len(file.questions)))
        placed = sum(any(each.start is not None for each in asked.answers) for asked in file.questions)
        answerable = sum(asked.answerable for asked in file.questions)
        assert len(set(windows.questions[windows.starts > 0])) + windows.answers_lost == answerable >= placed
    assert MUTATIONS / 4 < refused < MUTATIONS  # it is neither all refused nor all let through


def test_the_unmutated_file_is_valid(tmp_path: Path) -> None:
    for version in ("v1.1", "v2.0"):
        assert len(read_squad(write(tmp_path, whole(version)), version).questions) == 4 + (version == "v2.0")
