"""`steeplechase generate`: what a trained trial writes for given texts."""

from pathlib import Path
from typing import Annotated

import typer

from runners.flags import StoreUrl
from steeplechase.commands.recorded_code import Trust, code_of, refuse_without_code
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import ConfigurationError, DataError, first_lines, not_one_of
from steeplechase.ledger.checkpoints import TunedTrial, tuned_trials

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
Input = Annotated[Path, typer.Option("--input", metavar="FILE", help="Sources in UTF-8, one text a line.")]


def generate(  # noqa: PLR0913, PLR0917 — one argument per option of the command
    results: Results,
    source: Input,
    trial: Annotated[str | None, typer.Option(metavar="ARM/SEED", help="A trial of the results folder.")] = None,
    task: Annotated[
        str | None, typer.Option(help="The task that it was fine-tuned on, if there are several.")
    ] = None,
    beams: Annotated[int, typer.Option(min=1, max=64, help="Hypotheses of a beam search; 1 is greedy.")] = 1,
    length_penalty: Annotated[float, typer.Option(min=0, max=10, help="Exponent of a beam search's penalty.")] = 0.6,
    longest: Annotated[int, typer.Option(min=1, max=4096, help="The most tokens of a text.")] = 128,
    store: StoreUrl = "",
    trust: Trust = False,
) -> None:
    """Write the text that a fine-tuned encoder–decoder generates for each line of a file."""
    texts = _lines(source)
    with code_of(results, trust):
        tuned = _chosen(results, tuned_trials(results, store), trial, task)
        refuse_without_code(tuned.architecture)
        from steeplechase.commands.generation import Search, texts_of

        written = texts_of(tuned, texts, Search(beams, length_penalty, longest), str(source))
    for text in written:  # a text of several lines, such as a summary, is one line here
        print(" ".join(text.split()))  # noqa: T201


def _lines(path: Path) -> list[str]:
    """Return the lines of a file. Raises DataError with every line that is no text."""
    try:
        text = read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise DataError(
            f"{path}: byte {wrong.start} is not UTF-8; convert the file, for instance with iconv"
        ) from wrong
    if not text:
        raise DataError(f"{path}: the file is empty, expected one text a line")
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]  # as editors count them
    empty = [f"{path}:{number}: empty, expected a text" for number, line in enumerate(lines, 1) if not line.strip()]
    if empty:
        raise DataError(first_lines(empty, lambda more: f"{path}: {more} more empty lines"))
    return lines


def _chosen(results: Path, found: list[TunedTrial], trial: str | None, task: str | None) -> TunedTrial:
    """Return the only trial and task that the options leave. Raises ConfigurationError for none or several."""
    if not found:
        raise ConfigurationError(f"{results}: no trial was fine-tuned on a task whose targets are texts")
    for name, wanted, of in (("--trial", trial, "trial"), ("--task", task, "task")):
        known = list(dict.fromkeys(getattr(each, of) for each in found))
        if wanted is not None and wanted not in known:
            raise ConfigurationError(f"{name}: {not_one_of(wanted, f'a fine-tuned {of} of {results}', known)}")
        if wanted is None and len(known) > 1:
            raise ConfigurationError(f"{results}: choose with {name}; allowed: {', '.join(known)}")
        found = [each for each in found if getattr(each, of) == (wanted or known[0])]
    return found[0]
