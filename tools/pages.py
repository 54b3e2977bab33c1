"""Pages with numbers of published reports: `docs/templates/PATH.jinja`, rendered from the rows, is `PATH`.

    python -m tools.pages            # make pages: writes the pages
    python -m tools.pages --check    # make check: names the pages that differ from their templates

A template calls the methods of `Published` (`tools/page_values.py`) as functions:

    {{ difference("table2-wikipedia", "held_out_loss", "span_dynamic") }}      −0.972 nats [−1.124, −0.819], n = 8
    {{ below("table2-wikipedia", "held_out_loss", "span_dynamic", "depthwise", n=False) }}   0.099 nats [0.078, 0.121]
    {{ mean("table2-laptop", "held_out_loss", "baseline") }}                   3.84 ± 0.15 (n = 5)
    {{ claim("table2-wikipedia", "held_out_loss(span_dynamic) < held_out_loss(dynamic)") }}  undecided: Δ −0.056 …
    {{ cell("components-laptop", "shapley", "share", factor="groups", metric="held_out_loss") | percent }}       12%

A mistake in a template is one line with the template, the line and the closest known name; no page is written then.

`docs/commands.md` has the commands as `--help` shows them, `docs/gpu.md` the estimated GPU hours of experiments on
cards, as `plan` tells them where no card is.
"""

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from reports.number_format import fixed, percent, signed
from runners.cost_estimate.gpu_hours import USUAL, memory_by_arm, trial_work
from search_space.cards import CARDS
from steeplechase.commands.experiments import listed
from steeplechase.commands.main import COMMANDS, DISTRIBUTION, imported
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.yaml.experiment_files import experiment_files
from steeplechase.foundation.errors import ConfigurationError, UserError
from tools.fault_page import fault_table, peer_counts, standing_lines
from tools.page_values import Published

TEMPLATES = "docs/templates"
SUFFIX = ".jinja"
PUBLISHED = "reports/published"
HEADER = "<!-- Rendered from {template} by `make pages`; edit it there. -->\n\n"
STALE = "differs from its template; `make pages` writes it"
TOGETHER = 8
"""Cards whose hours are told too."""


def pages(root: Path) -> Mapping[Path, str]:
    """Return every page as text by its path. Raises ConfigurationError with the first mistake of each template."""
    published, folder = Published(root / PUBLISHED), root / TEMPLATES
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    names = [name for name in dir(published) if not name.startswith("_")]
    environment.globals |= {name: getattr(published, name) for name in names}
    environment.globals |= {"experiments": lambda: listed(experiment_files()), "command_groups": command_groups}
    environment.globals |= {"fault_table": fault_table, "peer_counts": peer_counts}
    environment.globals |= {
        "standing_lines": standing_lines,
        "gpu_hour_rows": gpu_hour_rows,
        "experiment_text": experiment_text,
    }
    environment.filters |= {"fixed": fixed, "percent": percent, "signed": signed}
    found, mistakes = dict[Path, str](), list[str]()
    for template in sorted(folder.rglob(f"*{SUFFIX}")):
        name = template.relative_to(folder).as_posix()
        try:
            text = environment.get_template(name).render()
            found[root / name.removesuffix(SUFFIX)] = HEADER.format(template=f"{TEMPLATES}/{name}") + text
        except (UserError, TemplateError, TypeError, ValueError, LookupError) as fault:
            mistakes.append(f"{TEMPLATES}/{name}:{_line_of(fault)}: {fault}")
    if mistakes:
        raise ConfigurationError(mistakes)
    return found


def _line_of(fault: Exception) -> int | None:
    """Return the line of the template in which an error arose."""
    if isinstance(fault, TemplateSyntaxError):
        return fault.lineno
    frames = traceback.extract_tb(fault.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename.endswith(SUFFIX)), None)


def stale(root: Path) -> Iterator[str]:
    """Yield the pages that are not what their templates give, from the root."""
    for page, text in pages(root).items():
        if not page.is_file() or page.read_bytes() != text.encode():
            yield page.relative_to(root).as_posix()


class CommandLine(NamedTuple):
    """A command, or a command of a command."""

    usage: str
    summary: str
    parameters: list[tuple[str, str]]
    """Arguments and options as they are written, each with its help."""


def experiment_text(name: str) -> str:
    """Return an experiment's file as it is written, without the line that names the schema for editors."""
    return experiment_files()[name].read_text(encoding="utf-8").partition("\n")[2]


def command_groups() -> Iterator[tuple[str, list[CommandLine]]]:
    """Yield every group of the help with its commands."""
    for group, names in groupby(COMMANDS, key=lambda name: COMMANDS[name].group):
        yield group, [line for name in names for line in _lines(imported(name), f"{DISTRIBUTION} {name}")]


def _lines(command: Any, usage: str) -> Iterator[CommandLine]:
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        context = command.make_context(usage, [], resilient_parsing=True)
        records = [record for each in command.params if (record := each.get_help_record(context))]
        arguments = [written.split()[0] for written, _ in records if not written.startswith("-")]
        yield CommandLine(" ".join([usage, *arguments]), command.help or "", records)
    for name, each in inner.items():
        yield from _lines(each, f"{usage} {name}")


def gpu_hour_rows(*experiments: str) -> Iterator[str]:
    """Yield a table row for each `name@scale`: memory, hours on one card, and on several of the same kind."""
    cards = [next(card for card in CARDS if card.name == name) for name in USUAL]
    titles = " | ".join(f"{name}, hours" for name in USUAL)
    yield f"| experiment | scale | GPU memory | {titles} | {TOGETHER} x H100 |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for each in experiments:
        name, _, scale = each.partition("@")
        experiment = load_experiment(experiment_files()[name], scale)
        works = [trial_work(experiment, arm.candidate) for arm in experiment.arms]
        trials, seeds = [[work.hours(card).total for work in works] for card in cards], experiment.pretraining.seeds
        totals = dict(zip(USUAL, (len(first_seeds(seeds)) * sum(hours) for hours in trials), strict=True))
        together = max(totals["H100"] / TOGETHER, *trials[USUAL.index("H100")])
        memory = max(memory_by_arm(experiment).values()) / 2**30
        told = " | ".join(
            f"{hours:,.2g}" if hours < 10 else f"{hours:,.0f}" for hours in (*totals.values(), together)
        )
        yield f"| `{name}` | `{scale}` | {memory:,.1f} GiB | {told} |"


def main(root: Path, arguments: Sequence[str]) -> int:
    """Write or check the pages; return the exit code."""
    try:
        if "--check" in arguments:
            differing = [*stale(root)]
            sys.stderr.writelines(f"{page}: {STALE}\n" for page in differing)
            return int(bool(differing))
        for page, text in pages(root).items():
            page.write_text(text, encoding="utf-8")
    except UserError as mistakes:
        sys.stderr.writelines(f"{line}\n" for line in mistakes.lines)
        return mistakes.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1], sys.argv[1:]))
