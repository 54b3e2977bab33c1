"""The process of `steeplechase check`: measures a plugin, whose code may end it, and answers with lines of JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from steeplechase.configuration.plugins import load_plugin
from steeplechase.foundation.child_process import private_output
from steeplechase.foundation.errors import UserError

PLACE, OUTCOME, END, EXIT_CODE = "place", "outcome", "end", "exit_code"
"""The keys of answers: what comes next, what was found, and the end with the lines and the code of a refusal."""


def main() -> None:
    """Measure the folder that the argument names; the last line says that all is measured, or why it is not."""
    answers = private_output()

    def tell(line: Mapping[str, object]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    folder = Path(sys.argv[1])
    try:
        tell({PLACE: str(folder)})
        load_plugin(folder)  # before torch, whose import takes seconds: what cannot be loaded is told at once
        from steeplechase.commands.plugin_contracts import measured

        for found in measured(folder):
            tell({PLACE: found} if isinstance(found, str) else {OUTCOME: asdict(found)})
        tell({END: []})
    except UserError as refusal:
        tell({END: refusal.lines, EXIT_CODE: refusal.exit_code})


if __name__ == "__main__":
    main()
