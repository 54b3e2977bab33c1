"""Start of the command `steeplechase`: refuses modules that hide this project's packages, before importing these."""

import sys

from steeplechase.hidden import hidden_packages

EXIT_CODE = 5
"""That of a MachineError, whose module may be hidden."""


def main() -> None:
    """Run the command line; a hidden package is one line and exit code 5."""
    if hidden := hidden_packages():
        print(*hidden, sep="\n", file=sys.stderr)  # noqa: T201 - the only output of the refusal
        sys.exit(EXIT_CODE)
    from steeplechase.commands.main import main as command_line

    command_line()
