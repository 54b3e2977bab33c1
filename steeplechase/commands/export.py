"""`steeplechase export`: writes a model as a transformers folder, without importing transformers."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.flags import StoreUrl
from steeplechase.commands.arguments import NewFolder
from steeplechase.commands.describe import DescribeArguments, find_target
from steeplechase.commands.output import tell
from steeplechase.commands.recorded_code import Trust, code_of
from steeplechase.configuration.initial_checkpoint import is_initial_checkpoint
from steeplechase.foundation.atomic_files import refuse_existing
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.models.huggingface import config

if TYPE_CHECKING:
    from steeplechase.commands.huggingface.export_folder import Exported

DEFAULT_SEED = 1
SOURCES = (
    "A results folder, for one of its trials; a folder written by `import`; or, for an untrained model, a YAML "
    "file with an architecture, a candidate or an experiment, or a name that `steeplechase describe --help` lists."
)


def export(  # noqa: PLR0913, PLR0917 — one argument per option of the command
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCES)],
    out: NewFolder,
    trial: Annotated[str | None, typer.Option(metavar="ARM/SEED", help="A trial of the results folder.")] = None,
    scale: Annotated[str | None, typer.Option(help="A scale of the experiment file.")] = None,
    arm: Annotated[str | None, typer.Option(help="An arm of the experiment file; its baseline by default.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Seed of an untrained model; default: 1.")
    ] = None,
    store: StoreUrl = "",
    trust: Trust = False,
) -> None:
    """Write a model that transformers' AutoModel and AutoTokenizer load with equal outputs."""
    refuse_existing(out)
    with code_of(Path(source), trust):
        _export(source, out, _find(source, trial, DescribeArguments(scale=scale, arm=arm), seed, store))


def _export(source: str, out: Path, exported: "Exported") -> None:
    pad = None if exported.tokenizer is None else exported.tokenizer.pad
    reasons = tuple(config.obstacles(exported.architecture, pad))
    if reasons:
        raise ConfigurationError(f"{source}: {reason}" for reason in reasons)
    from steeplechase.commands.huggingface.export_folder import notes_on, write

    notes = tuple(notes_on(exported))
    write(exported, notes, out)
    for line in [*(f"note: {note}" for note in notes), f"exported: {out}"]:
        tell(line)


def _find(source: str, trial: str | None, arguments: DescribeArguments, seed: int | None, store: str) -> "Exported":
    folder = Path(source)
    start = is_initial_checkpoint(folder)
    trained = folder.is_dir() and not start
    untrained = not folder.is_dir()
    _refuse_idle(
        [
            ("--trial", trial, "a results folder", trained),
            ("--store", store or None, "a results folder", trained),
            ("--scale", arguments.scale, "an experiment file", untrained),
            ("--arm", arguments.arm, "an experiment file", untrained),
            ("--seed", seed, "an untrained model", untrained),
        ]
    )
    subject = find_target(source, arguments)[0] if untrained else None
    from steeplechase.commands.huggingface import export_folder as exported

    if subject is not None:
        return exported.from_declaration(subject, DEFAULT_SEED if seed is None else seed)
    return exported.from_trial(folder, trial, store) if trained else exported.from_start(folder)


def _refuse_idle(options: Iterable[tuple[str, object, str, bool]]) -> None:
    """Reject options without effect."""
    idle = [f"{name}: belongs to {owner}" for name, value, owner, used in options if value is not None and not used]
    if idle:
        raise ConfigurationError(idle)
