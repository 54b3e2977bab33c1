"""`steeplechase data`: lists, verifies and fetches published data sets."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from steeplechase.commands.output import print_json, tell
from steeplechase.foundation.errors import ConfigurationError, CorruptionError, DataError, not_one_of
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import VARIABLE, data_folder, missing
from steeplechase.tasks.data_sets.local_copies import Finding, State, fetch, find, refuse_unfetchable
from steeplechase.tasks.data_sets.registry import DataSet, data_sets

UNKNOWN = "unknown"
BESIDE_FROM = 150  # columns of the terminal from which licence and source are beside the state
HERE = (State.VERIFIED, State.FETCHED)

application = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets; `steeplechase data` lists them.")]
SomeNames = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME...]", help="Data sets; by default all in the folder.")
]


@application.callback()
def data(context: typer.Context, as_json: AsJson = False) -> None:
    """List the published data sets: size, source, licence, sha256 and state."""
    context.obj = as_json
    if context.invoked_subcommand is None:
        folder = data_folder()
        findings = {name: find(data_set, folder) for name, data_set in data_sets().items()}
        if as_json:
            print_json({"folder": str(folder), "data_sets": [_document(name, findings[name]) for name in findings]})
        else:
            _show(folder, findings)


@application.command("fetch")
def fetch_command(context: typer.Context, names: Names, as_json: AsJson = False) -> None:
    """Fetch data sets from the Hugging Face hub, at fixed commits; needs the extra `datasets` and the network."""
    chosen, folder = _chosen(names), data_folder()
    refuse_unfetchable(chosen, folder)
    rows: list[JsonValue] = []
    for name, data_set in chosen.items():
        target, fetched = fetch(data_set, folder)
        rows.append({"name": name, "folder": str(target), "fetched": fetched})
        if not _json_wanted(context, as_json):
            tell(f"{name}: {'fetched into' if fetched else 'already there, verified:'} {target}", stderr=False)
    if _json_wanted(context, as_json):
        print_json({"data_sets": rows})


@application.command("verify")
def verify(context: typer.Context, names: SomeNames = None, as_json: AsJson = False) -> None:
    """Check the size and sha256 of every file; one line per fault."""
    folder, chosen = data_folder(), _chosen(names or [*data_sets()])
    findings = {name: find(data_set, folder) for name, data_set in chosen.items()}
    if not names:
        findings = {name: finding for name, finding in findings.items() if finding.state is not State.ABSENT}
        if not findings:
            raise missing(f"{folder}: has none of the published data sets")
    if _json_wanted(context, as_json):
        print_json({"folder": str(folder), "data_sets": [_document(name, findings[name]) for name in findings]})
    elif verified := [name for name, finding in findings.items() if finding.state in HERE]:
        tell(f"{folder}: verified {', '.join(verified)}", stderr=False)
    _refuse_faults(findings)


def _refuse_faults(findings: dict[str, Finding]) -> None:
    """Raise one error with every fault: CorruptionError if a file is different, DataError if some are missing."""
    faults = [(name, fault) for name, finding in findings.items() for fault in finding.faults]
    lines = [f"{fault}{_remark(name)}" for name, fault in faults]
    if any(not fault.missing for _, fault in faults):
        raise CorruptionError(lines)
    if faults:
        raise DataError(lines)


def _remark(name: str) -> str:
    note = data_sets()[name].note
    return f" ({name}: {note})" if note else f" ({name})"


def _chosen(names: list[str]) -> dict[str, DataSet]:
    """Return data sets by name. Raises ConfigurationError with every unknown name."""
    known = data_sets()
    if unknown := [name for name in names if name not in known]:
        raise ConfigurationError(not_one_of(name, "a data set", known) for name in unknown)
    return {name: known[name] for name in names}


def _json_wanted(context: typer.Context, as_json: bool) -> bool:
    """Return whether `--json` is given, before or after the name of the sub-command."""
    return as_json or bool(context.obj)


def _document(name: str, finding: Finding) -> JsonValue:
    data_set = data_sets()[name]
    faults: list[JsonValue] = [
        {"path": str(fault.path), "message": fault.message, "missing": fault.missing} for fault in finding.faults
    ]
    return {
        "name": name,
        **data_set.model_dump(mode="json", exclude={"files"}),
        "bytes": data_set.size,
        "sha256": data_set.sha256,
        "state": finding.state.value,
        "faults": faults,
        "files": [file.model_dump(mode="json") for file in data_set.files],
    }


def _show(folder: Path, findings: dict[str, Finding]) -> None:
    console = Console()
    beside = console.width >= BESIDE_FROM
    table = Table("data set", "read as", box=None, pad_edge=False)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("sha256", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("fetch", no_wrap=True)
    origins = table if beside else Table("data set", box=None, pad_edge=False)
    origins.add_column("licence", overflow="fold")
    origins.add_column("source", overflow="fold")
    for name, finding in findings.items():
        data_set = data_sets()[name]
        size, fetchable = f"{data_set.size / 1e6:.1f} MB", "yes" if data_set.hub else "no"
        row = (name, data_set.kind, size, data_set.sha256[:12], finding.state.value, fetchable)
        origin = (data_set.licence or UNKNOWN, data_set.source)
        table.add_row(*row, *(origin if beside else ()))
        if not beside:
            origins.add_row(name, *origin)
    console.print(table)
    if not beside:
        console.print(origins)
    here = sum(finding.state in HERE for finding in findings.values())
    tell(
        f"{here} of {len(findings)} are in {folder}, the folder of published data sets; ${VARIABLE} names another",
        stderr=False,
    )
    for name, finding in findings.items():
        if finding.state in (State.INCOMPLETE, State.DIFFERENT):
            tell(f"{name}: {finding.state.value}; `steeplechase data verify {name}` says which files", stderr=False)
