"""What this machine's processor can do, as the system tells it. Torch-free."""

from pathlib import Path


def instructions() -> str:
    """Return the line of instruction sets of the first core; empty where the system has no such list."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
