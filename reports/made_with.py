"""Provenance from the ledger: version, command, time, machine and libraries of the numbers."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reports.document import Notes
from reports.number_format import duration
from reports.table import printable
from steeplechase.foundation.program import PROGRAM
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Status
from steeplechase.ledger.sessions import Session
from steeplechase.ledger.snapshot import Snapshot


def made_with_of(snapshot: Snapshot) -> Notes:
    """Return the provenance by term; terms that the ledger does not have are left out."""
    if not snapshot.manifest:
        return ()
    return tuple((term, printable(text)) for term, text in _facts(snapshot) if text)


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    versions = snapshot.manifest.get("libraries")
    libraries = {name: str(version) for name, version in versions.items()} if isinstance(versions, dict) else {}
    yield "Version", " ".join(filter(None, [PROGRAM, libraries.pop(PROGRAM, "")]))
    commands = dict.fromkeys(session.command for session in snapshot.sessions if session.command)
    yield "Command", "; then ".join(commands)
    settings = snapshot.manifest.get("settings")
    yield "Settings", ", ".join(map(str, settings)) if isinstance(settings, list) else ""
    yield "Run", _times(snapshot.sessions)
    yield "Stages", _stages(snapshot)
    yield "Trials taken from", "; ".join(f"{one.name}, sha256 {one.sha256}" for one in snapshot.reused_sources)
    earlier = [machine for source in snapshot.reused_sources for machine in source.machines]
    ran_on = [*earlier, *(session.machine for session in snapshot.sessions)]
    machines = dict.fromkeys(map(_machine, ran_on or [snapshot.manifest]))
    yield "Machine", "; then ".join(machines)
    named = ", ".join(f"{name} {version}" for name, version in sorted(libraries.items()))
    yield "Libraries", f"Python {snapshot.manifest.get('python')}, {named}"


def _times(sessions: tuple[Session, ...]) -> str:
    """Return start and wall time of the sessions; the end of a killed process is unknown."""
    if not sessions:
        return ""
    start = _moment(sessions[0])
    seconds = [session.seconds for session in sessions if session.seconds is not None]
    killed = len(sessions) - len(seconds)
    wall = f"{duration(sum(seconds))} wall time" if seconds else ""
    unknown = f"{killed} of them without an end" if killed else ""
    if len(sessions) == 1:
        return ", ".join(filter(None, [start, wall or "without an end: wall time unknown"]))
    return ", ".join(
        filter(None, [f"{len(sessions)} sessions from {start} to {_moment(sessions[-1])}", wall, unknown])
    )


def _moment(session: Session) -> str:
    return datetime.fromisoformat(session.started).strftime("%Y-%m-%d %H:%M UTC")


def _stages(snapshot: Snapshot) -> str:
    """Return the number of computed stages with their total time over workers, and the number of cached stages."""
    of_trials = (record for each in snapshot.every_history for record in (*each.records, *each.audit))
    ended = [record for record in (*snapshot.shared, *of_trials) if record.status is not Status.FAILED]
    computed = [record.total_seconds for record in ended if not record.reused]
    parts = [f"{len(computed)} computed in {duration(sum(computed))}, added over all workers"] if computed else []
    reused = len(ended) - len(computed)
    cache = "the stage cache or other results" if snapshot.reused_sources else "the stage cache"
    return ", ".join([*parts, *([f"{reused} taken from {cache}"] if reused else [])])


def _machine(machine: Mapping[str, JsonValue]) -> str:
    cores, threads = machine.get("cores"), machine.get("threads")
    cores_text = f"{cores} {'core' if cores == 1 else 'cores'}" if cores else ""
    threads_text = f"{threads} {'thread' if threads == 1 else 'threads'} per stage" if threads else ""
    parts = (str(machine.get("processor")), cores_text, str(machine.get("system")), threads_text)
    return ", ".join(filter(None, parts))
