"""Which heavy libraries and modules a command imports on its way."""

import subprocess
import sys
from pathlib import Path

from tests.factories.command_calls import ROOT

HEAVY = ("torch", "ray", "mlflow", "optuna", "sklearn", "datasets")
NUMERICAL = ("numpy", "scipy", "jaxtyping", "matplotlib", "tokenizers")
"""Libraries of results and training, which declarations do without."""
CALL = """
import sys
from steeplechase.commands.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def heavy_after(*arguments: str | Path, code: int | None = 0) -> set[str]:
    """Return the heavy libraries that a command has imported by its end."""
    return {*HEAVY} & imported_after(*arguments, code=code)


def imported_after(*arguments: str | Path, code: int | None = 0) -> set[str]:
    """Return the modules that a command has imported by its end; it may end with any code where None is given."""
    command = [sys.executable, "-c", CALL, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert code in (None, done.returncode), done.stderr
    return set(done.stderr.splitlines()[-1].split())
