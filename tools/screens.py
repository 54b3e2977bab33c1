"""Every screen of docs/dashboards.md again: `python -m tools.screens FOLDER [--search FOLDER]`.

FOLDER is a results folder or a published report with trials; its rows are mirrored to an MLflow store of its own in a
temporary folder. `--search` is a search, for the interactive page and the curves, which are FOLDER's without it.
`--out` is docs/screens unless given. Needs Chromium (`apt-get install chromium`); nothing is downloaded and no page
is changed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

from PIL import Image
from rich.console import Console, RenderableType

from reports.formats import render
from reports.report import build
from runners.run_progress import RunProgress
from runners.tracking import TrackingStore, mirror
from runners.tracking.runs import study_name
from runners.tracking.server import HOST, addresses
from steeplechase.commands.explore import explore
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.foundation.errors import MachineError, UserError
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import Snapshot, snapshot_at

SCREENS = Path(__file__).resolve().parents[1] / "docs" / "screens"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run"
PORT = 5093
NARROWEST_WINDOW = 500  # pixels; a narrower page is shown in a frame of its width
COLUMNS, LIVE_WIDTH, DRAWN_AT = 100, 1238, 0.6
LIVE_ARMS = {"kind": "one_factor", "vary": {"convolution": ["depthwise", "lightweight", "dynamic", "span_dynamic"]}}
LIVE_PRETRAINING = {"tokens": 2560, "seeds": [1, 2, 3]}
SECONDS_TO_DRAW, SECONDS_TO_START = {"http": 20, "file": 5}, 120.0


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


def dashboard_screens(store: TrackingStore, snapshot: Snapshot, search: Snapshot) -> Iterator[Screen]:
    """Yield the screens of MLflow's pages on the store: arms of the snapshot, and curves of the search."""
    base = f"http://{HOST}:{PORT}"
    arms, _ = _addresses(store, base, snapshot)
    _, curves = _addresses(store, base, search)
    yield Screen("ui-arms", arms, 1440, 810)
    yield Screen("ui-curves", curves, 1440, 810)


def _addresses(store: TrackingStore, base: str, snapshot: Snapshot) -> list[str]:
    """Return the addresses of the arms and of the trials of a study."""
    lines = addresses(store, base, study_name(snapshot.experiment, snapshot.scale))
    return [line.partition(": ")[2] for line in lines][:2]


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
        f"--virtual-time-budget={1000 * SECONDS_TO_DRAW[address.partition(':')[0]]}",
        f"--screenshot={file}",
        address,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if ended.returncode or not file.is_file():
        raise MachineError(f"{screen.name}: {browser} made no picture: {ended.stderr.strip()[-300:]}")
    if width != screen.width:
        with Image.open(file) as picture:
            picture.crop((0, 0, screen.width, screen.height)).save(file)


@contextmanager
def served(results: Path) -> Iterator[None]:
    """Run MLflow's pages on a folder's store until the context ends. Raises MachineError if they do not respond."""
    command = [sys.executable, "-m", "steeplechase.commands.main", "ui", str(results), "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + SECONDS_TO_START
            while True:
                with suppress(OSError), closing(urlopen(f"http://{HOST}:{PORT}", timeout=2)):
                    break
                if time.monotonic() > until or server.poll() is not None:
                    raise MachineError(f"http://{HOST}:{PORT}: MLflow does not respond")
                time.sleep(0.5)
            yield
        finally:
            server.terminate()


def screens(browser: str, folder: Path, search: Path, out: Path) -> Iterator[str]:
    """Take every screen; yield the names."""
    with tempfile.TemporaryDirectory(prefix="steeplechase-screens-") as name:
        scratch = Path(name)
        snapshot, searched = snapshot_at(folder), snapshot_at(search)
        report, explorer = scratch / "report.html", scratch / "explore.html"
        report.write_text(render(build(snapshot, example_tables=kept_example_tables(folder)), "html"), "utf-8")
        explore(search, explorer)
        store = TrackingStore.resolve(scratch / "results", None, {})
        store.results_root.mkdir()
        for each in (searched, snapshot) if search != folder else (snapshot,):  # the last one opens
            mirror(each, store)
        pictures = [*report_screens(report, explorer), live_screen(scratch)]
        with served(store.results_root):
            for screen in [*pictures, *dashboard_screens(store, snapshot, searched)]:
                take(browser, screen, out, scratch)
                yield screen.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the screens; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.screens", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--search", type=Path, help="a search, for the pages of its candidates; default: FOLDER")
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
