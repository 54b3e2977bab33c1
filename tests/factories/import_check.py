"""Which heavy libraries and modules a command imports on its way."""

import json
import subprocess
import sys
from pathlib import Path

from tests.factories.command_calls import ROOT

HEAVY = ("torch", "ray", "mlflow", "optuna", "sklearn", "datasets")
NUMERICAL = ("numpy", "scipy", "jaxtyping", "matplotlib", "tokenizers")
"""Libraries of results and training, which declarations do without."""
CALL = """
import json, sys
from steeplechase.commands.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["steeplechase", *arguments]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, *sys.modules, file=sys.stderr)
"""


def imported_after(*commands: tuple[str | Path, ...]) -> list[tuple[int, set[str]]]:
    """Return the exit code of each command of one process, and the modules that it has imported by then."""
    command = [sys.executable, "-c", CALL, json.dumps([[*map(str, arguments)] for arguments in commands])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    found = [line.split() for line in done.stderr.splitlines() if line.count(" sys ")]
    return [(int(code), {*modules}) for code, *modules in found]
