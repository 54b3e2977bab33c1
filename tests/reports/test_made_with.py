"""Sessions: a run that computes records time, command and duration; a run without work records nothing."""

from contextlib import closing
from pathlib import Path

from reports.made_with import made_with_of
from steeplechase.foundation.environment import manifest
from steeplechase.ledger.csv_export import read_export, write_export
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.sessions import Stopwatch, session_facts, sessions
from steeplechase.ledger.snapshot import snapshot

MACHINE = {"processor": "a processor", "cores": 2, "system": "Linux x86_64", "threads": 1}


def begun(folder: Path) -> Ledger:
    ledger = Ledger(folder / "ledger.sqlite")
    facts = {
        "experiment": "e",
        "scale": "s",
        "document": {"experiment": "e"},
        "labels": ["a"],
        "manifest": manifest(),
    }
    for name, value in facts.items():
        ledger.set_fact(name, value)
    return ledger


def test_a_session_that_computed_nothing_leaves_the_ledger_as_it_is(tmp_path: Path) -> None:
    with closing(begun(tmp_path)) as ledger:
        before = ledger.facts()
        Stopwatch(ledger, "steeplechase run e.yaml", MACHINE).end()
        assert ledger.facts() == before
        assert sessions(ledger) == ()


def test_sessions_are_counted_and_one_that_was_killed_has_no_duration(tmp_path: Path) -> None:
    with closing(begun(tmp_path)) as ledger:
        Stopwatch(ledger, "first", MACHINE).begin()  # killed
        second = Stopwatch(ledger, "second", MACHINE)
        second.begin()
        second.begin()
        second.end()
        recorded = sessions(ledger)
    assert [(session.command, session.seconds is None) for session in recorded] == [
        ("first", True),
        ("second", False),
    ]
    assert recorded[0].machine == MACHINE


def test_facts_are_read_once_however_many_sessions_there_are(tmp_path: Path) -> None:
    with closing(begun(tmp_path)) as ledger:
        for number in range(20):
            watch = Stopwatch(ledger, str(number), MACHINE)
            watch.begin()
            watch.end()
    for opened in (lambda: Ledger(tmp_path / "ledger.sqlite"), lambda: Ledger.at(tmp_path)):
        queries: list[str] = []
        with closing(opened()) as ledger:
            ledger._connection.set_trace_callback(queries.append)
            assert len(sessions(ledger)) == 20
            assert len([*session_facts(ledger)]) == 40
            snapshot(ledger)
        assert sum("FROM facts" in query for query in queries) == 1


def test_provenance_is_the_same_from_the_ledger_and_from_its_export(tmp_path: Path) -> None:
    with closing(begun(tmp_path)) as ledger:
        watch = Stopwatch(ledger, "steeplechase run 'e x.yaml' --scale s", MACHINE)
        watch.begin()
        watch.end()
        write_export(ledger, tmp_path)
        text = made_with_of(snapshot(ledger))
    assert made_with_of(snapshot(read_export(tmp_path))) == text
    terms = dict(text)
    assert terms["Command"] == "steeplechase run 'e x.yaml' --scale s"
    assert terms["Machine"] == "a processor, 2 cores, Linux x86_64, 1 thread per stage"
    assert terms["Version"].startswith("steeplechase ")
    assert "torch " in terms["Libraries"]
    assert terms["Run"].endswith("UTC, 0 s wall time")


def test_a_ledger_without_sessions_has_partial_provenance(tmp_path: Path) -> None:
    with closing(begun(tmp_path)) as ledger:
        terms = dict(made_with_of(snapshot(ledger)))
    assert terms.keys() == {"Version", "Machine", "Libraries"}
