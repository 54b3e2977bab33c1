"""`steeplechase experiments`: every experiment with its question and its scales."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from reports.table import printable
from steeplechase.commands.output import print_json
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.experiment_files import experiment_files
from steeplechase.configuration.yaml.nodes import Leaf, child
from steeplechase.foundation.errors import UserError


@dataclass(frozen=True)
class ListedExperiment:
    """An experiment as it is listed."""

    name: str
    """What `plan` and `run` take."""
    file: str
    question: str
    scales: tuple[str, ...]


def experiments(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """List the experiments with their questions and scales; `plan` and `run` take their names."""
    found = [*listed(experiment_files())]
    if as_json:
        print_json([asdict(each) for each in found])
        return
    console = Console()
    for each in found:
        console.print(each.name, style="bold", markup=False, highlight=False)
        lines = (each.question, f"scales: {', '.join(each.scales)}" if each.scales else "without scales")
        for line in lines:
            console.print(Padding(printable(line), (0, 0, 0, 2)), markup=False, highlight=False)


def listed(files: dict[str, Path]) -> Iterator[ListedExperiment]:
    """Yield each experiment; a file that cannot be read is listed with the reason as its question."""
    for name, path in files.items():
        try:
            file = read_file(path)
            question = child(file.document, "question")
            text = str(question.value) if isinstance(question, Leaf) else ""
            yield ListedExperiment(name, str(path), text, file.scales)
        except UserError as refusal:
            yield ListedExperiment(name, str(path), refusal.lines[0], ())
