"""The name of this program in the commands that it prints."""

import shutil
import sys
from pathlib import Path

PROGRAM = "steeplechase"


def program() -> str:
    """Return how this program was called: its name where the shell finds it, otherwise the path to it."""
    called = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    return PROGRAM if called.name != PROGRAM or (found and Path(found).samefile(called)) else str(called)
