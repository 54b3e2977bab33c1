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
"""

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from reports.number_format import fixed, percent, signed
from steeplechase.commands.experiments import listed
from steeplechase.configuration.yaml.experiment_files import experiment_files
from steeplechase.foundation.errors import ConfigurationError, UserError
from tools.command_lines import command_groups
from tools.faults.rows import fault_table, peer_table, standing_lines
from tools.gpu_table import gpu_hour_rows
from tools.page_values import Published

TEMPLATES = "docs/templates"
SUFFIX = ".jinja"
PUBLISHED = "reports/published"
HEADER = "<!-- Rendered from {template} by `make pages`; edit it there. -->\n\n"
STALE = "differs from its template; `make pages` writes it"


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
    environment.globals |= {"fault_table": fault_table, "peer_table": peer_table}
    environment.globals |= {"standing_lines": standing_lines, "gpu_hour_rows": gpu_hour_rows}
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
