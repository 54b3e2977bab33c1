"""Every screen of docs/dashboards.md again: `python -m tools.screens FOLDER [--search FOLDER]`.

FOLDER is a results folder or a published report with trials. `--search` is a search, for the interactive page, which
is FOLDER's without it. `--out` is docs/screens unless given. Needs Chromium (`apt-get install chromium`); nothing is
downloaded and no page is changed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image
from rich.console import Console, RenderableType

from reports.formats import render
from reports.report import build
from runners.run_progress import RunProgress
from steeplechase.commands.explore import explore
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.foundation.errors import MachineError, UserError
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.reading import snapshot_at

SCREENS = Path(__file__).resolve().parents[1] / "docs" / "screens"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run"
NARROWEST_WINDOW = 500  # pixels; a narrower page is shown in a frame of its width
COLUMNS, LIVE_WIDTH, DRAWN_AT = 100, 1238, 0.6
LIVE_ARMS = {"kind": "one_factor", "vary": {"convolution": ["depthwise", "lightweight", "dynamic", "span_dynamic"]}}
LIVE_PRETRAINING = {"tokens": 2560, "seeds": [1, 2, 3]}
SECONDS_TO_DRAW = 5


@dataclass(frozen=True)
class Screen:
    """A picture of a page."""

    name: str
    address: str
    width: int
    height: int


def report_screens(report: Path, explorer: Path) -> Iterator[Screen]:
    """Yield the screens of the report and of the interactive page."""
    yield Screen("report", report.as_uri(), 1600, 1000)
    yield Screen("report-400", report.as_uri(), 400, 860)
    yield Screen("explore", explorer.as_uri(), 1400, 1330)


def live_screen(folder: Path) -> Screen:
    """Return the screen of the live view: the command's own drawing of a simulated run, 60% of it done."""
    simulated = import_module("tests.factories.simulated_training")
    console = Console(file=StringIO(), force_terminal=True, width=COLUMNS)

    class Pictured(LiveView):
        drawings: list[RenderableType] = []  # noqa: RUF012 — of the one view

        def draw(self, drawing: Callable[[], RenderableType], at_once: bool = False) -> None:
            self.drawings.append(drawing())

    track = simulated.Track(simulated.experiment(folder, design=LIVE_ARMS, pretraining=LIVE_PRETRAINING), folder)
    view = Pictured(console, track.store)

    @contextmanager
    def reporter(progress: RunProgress) -> Iterator[object]:
        view.watch(progress)
        yield lambda: view.watch(progress)

    track.reporter = reporter
    track.run()
    picture = Console(file=StringIO(), record=True, force_terminal=True, width=COLUMNS)
    picture.print(view.drawings[int(DRAWN_AT * len(view.drawings))])
    drawing = folder / "live.svg"
    picture.save_svg(str(drawing), title="steeplechase run")
    _, _, across, down = ElementTree.parse(drawing).getroot().attrib["viewBox"].split()
    return Screen("live", drawing.as_uri(), LIVE_WIDTH, round(LIVE_WIDTH * float(down) / float(across)))


def take(browser: str, screen: Screen, out: Path, folder: Path) -> None:
    """Write the picture of a page. Raises MachineError if the browser makes none."""
    file, address, width = out / f"{screen.name}.png", screen.address, max(screen.width, NARROWEST_WINDOW)
    if screen.width < NARROWEST_WINDOW:
        frame = folder / f"{screen.name}.html"
        size = f'width="{screen.width}" height="{screen.height}"'
        frame.write_text(f'<body style="margin:0"><iframe src="{address}" {size} style="border:0"></iframe>')
        address = frame.as_uri()
    command = [
        browser,
        *QUIET.split(),
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},{screen.height}",
        "--blink-settings=preferredColorScheme=1",  # light
        f"--virtual-time-budget={1000 * SECONDS_TO_DRAW}",
        f"--screenshot={file}",
        address,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if ended.returncode or not file.is_file():
        raise MachineError(f"{screen.name}: {browser} made no picture: {ended.stderr.strip()[-300:]}")
    if width != screen.width:
        with Image.open(file) as picture:
            picture.crop((0, 0, screen.width, screen.height)).save(file)


def screens(browser: str, folder: Path, search: Path, out: Path) -> Iterator[str]:
    """Take every screen; yield the names."""
    with tempfile.TemporaryDirectory(prefix="steeplechase-screens-") as name:
        scratch = Path(name)
        snapshot = snapshot_at(folder)
        report, explorer = scratch / "report.html", scratch / "explore.html"
        report.write_text(render(build(snapshot, example_tables=kept_example_tables(folder)), "html"), "utf-8")
        explore(search, explorer)
        for screen in (*report_screens(report, explorer), live_screen(scratch)):
            take(browser, screen, out, scratch)
            yield screen.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the screens; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.screens", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--search", type=Path, help="a search, for the interactive page; default: FOLDER")
    parser.add_argument("--out", type=Path, default=SCREENS)
    chosen = parser.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.stderr.write(f"needs one of {', '.join(BROWSERS)} on the path: apt-get install chromium\n")
        return 5
    chosen.out.mkdir(parents=True, exist_ok=True)
    search, out = chosen.search or chosen.folder, chosen.out.resolve()
    try:
        for name in screens(browser, chosen.folder, search, out):
            sys.stdout.write(f"{chosen.out / name}.png\n")
    except UserError as refused:
        sys.stderr.write("".join(f"{line}\n" for line in refused.lines))
        return refused.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
