"""`steeplechase generate`: what a trained trial writes for given texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from runners.flags import StoreUrl
from steeplechase.commands.recorded_code import Trust, code_of, refuse_without_code
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import ConfigurationError, DataError, damage_refused, first_lines, not_one_of
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
        tuned = _chosen(results, tuned_trials(results, store, trial), trial, task)
        refuse_without_code(tuned.architecture)
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


SOURCES_AT_A_TIME = 64


@dataclass(frozen=True)
class Search:
    """Settings of the command line."""

    beams: int
    length_penalty: float
    longest: int


def texts_of(tuned: TunedTrial, sources: Sequence[str], search: Search, name: str) -> list[str]:
    """Return the text that the trial generates for each source, a line of the file that messages call `name`.

    Raises DataError for sources that are too long, ConfigurationError for more beams than tokens.
    """
    import numpy as np
    import torch

    from runners.computing.generated_texts import continued, read_writer
    from steeplechase.models.generation.search import SearchSettings
    from steeplechase.tasks.tokenizer import load_tokenizer

    tokenizer, architecture = load_tokenizer(tuned.tokens), tuned.architecture
    if search.beams > (size := architecture.vocabulary_size):
        raise ConfigurationError(f"--beams: {search.beams} beams of a vocabulary of {size}; allowed: 1 to {size}")
    with damage_refused(str(tuned.stage)):
        writer, of_source = read_writer(tuned.stage, architecture, tokenizer)
    encoded = [[of_source.classify, *tokens, of_source.separate] for tokens in of_source.encode(sources)]
    before = max(map(len, encoded)) if writer.equal_sources else 0  # a target behind its source needs positions too
    reasons = [architecture.too_long(len(tokens) + writer.equal_sources) for tokens in encoded]
    too_long = [f"{name}:{number}: {reason}" for number, reason in enumerate(reasons, 1) if reason]
    if too_long:
        raise DataError(first_lines(too_long, lambda more: f"{name}: {more} more lines that are too long"))
    room = (architecture.longest_sequence or before + search.longest + 1) - max(1, before)  # 1: for [CLS]
    settings = SearchSettings(
        end=tokenizer.separate,
        longest=min(search.longest, room),
        beams=search.beams,
        length_penalty=search.length_penalty,
        forbidden=(tokenizer.pad, tokenizer.classify, tokenizer.mask),
    )
    texts = [""] * len(encoded)
    for rows in writer.batches(np.asarray([len(each) for each in encoded], np.int32), SOURCES_AT_A_TIME):
        lengths = [len(encoded[row]) for row in rows]
        tokens = torch.full((len(rows), max(lengths)), of_source.pad)
        for place, row in enumerate(rows):
            tokens[place, : lengths[place]] = torch.tensor(encoded[row])
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        found = continued(writer, tokens, None if bool(mask.all()) else mask, settings)
        for row, hypothesis in zip(rows, found, strict=True):
            texts[row] = tokenizer.decode(hypothesis.tokens)
    return texts
