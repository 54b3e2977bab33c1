"""A page as Chromium has it after its scripts have run; tests are skipped where there is no Chromium."""

import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"


def dom_of(page: Path, profile: Path) -> str:
    """Return the page's elements as text; the profile is an empty folder."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(f"needs one of {', '.join(NAMES)}")
    command = [browser, "--headless", "--no-sandbox", "--disable-sync", "--disable-dev-shm-usage", *QUIET.split()]
    options = [f"--user-data-dir={profile}", "--window-size=1400,1200", "--virtual-time-budget=5000", "--dump-dom"]
    ended = subprocess.run(
        [*command, *options, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return ended.stdout
