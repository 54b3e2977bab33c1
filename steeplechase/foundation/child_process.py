"""Python processes of this project: how a module of it is started as a process of its own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

PARTNER_DIED_CODE = 70
"""Exit code of a worker whose stage lost a process."""
ROOT = Path(__file__).resolve().parents[1]


class PartnerDied(Exception):
    """Another process of the same stage has ended; the stage is repeated from its checkpoint."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this project.

    The working directory is no part of its import path (-P): a user's `runners.py` there would be imported in place
    of this project's.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def import_path() -> Mapping[str, str]:
    """Return the environment variable by which such a process finds this project."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}


def private_output() -> TextIO:
    """Return the standard output for answers only, and redirect other output to the error stream."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel
