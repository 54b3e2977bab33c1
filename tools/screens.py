"""`python -m tools.screens FOLDER [--beside FOLDER] [--out docs/screens]`: every screen of docs/dashboards.md again.

FOLDER is a results folder or a published report with trials; its rows are mirrored to an MLflow store of its own in
a temporary folder. `--beside` is the same experiment at another scale, for the page of scales. Needs Chromium
(`apt-get install chromium`); nothing is downloaded and no page is changed.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from PIL import Image
from rich.console import Console

from commands.explore import explore
from commands.terminal.live_view import LiveView
from foundation.errors import MachineError, UserError
from ledger.example_tables import kept_example_tables
from ledger.reading import snapshot_at
from ledger.snapshot import Snapshot
from reports.formats import render
from reports.report import build
from runners.tracking import TrackingStore, mirror
from runners.tracking.runs import study_identity, study_name
from runners.tracking.server import HOST, pages_of

SCREENS = Path(__file__).resolve().parents[1] / "docs" / "screens"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run"
PORT = 5093
NARROWEST_WINDOW = 500  # pixels; a narrower page is shown in a frame of its width
COMPARED = 9
SECONDS_TO_DRAW, SECONDS_TO_START = {"http": 20, "file": 5}, 120.0


@dataclass(frozen=True)
class Screen:
    """A picture of a page."""

    name: str
    address: str
    width: int
    height: int
    dark: bool = False


def report_screens(report: Path, explorer: Path) -> Iterator[Screen]:
    """Yield the screens of the report and of the interactive page."""
    for width, height in ((1600, 1000), (1000, 1000), (400, 860)):
        for mode in ("light", "dark"):
            yield Screen(f"report-{width}-{mode}", report.as_uri(), width, height, mode == "dark")
    yield Screen("explore-light", explorer.as_uri(), 1400, 1330)
    yield Screen("explore-dark", explorer.as_uri(), 1400, 1330, dark=True)
    yield Screen("explore-400", explorer.as_uri(), 400, 860)


def dashboard_screens(store: TrackingStore, snapshot: Snapshot, beside: Snapshot | None) -> Iterator[Screen]:
    """Yield the screens of MLflow's pages on the store."""
    from runners.tracking.mlflow_client import TrackingClient

    base = f"http://{HOST}:{PORT}"
    name = study_name(snapshot.experiment, snapshot.scale)
    addresses = [line.partition(": ")[2] for line in pages_of(store, base, name).lines]
    addresses += [line.partition(": ")[2] for line in pages_of(store, base, None).lines if " scales: " in line]
    names = ["ui-arms", "ui-curves", *(["ui-scales"] if beside is not None else [])]
    for screen, address in zip(names, addresses, strict=False):
        yield Screen(screen, address, 1440, 810)
    client = TrackingClient(store.uri)
    known = client.known_experiment(name)
    assert known is not None
    runs = client.runs(known.identifier, study_identity(snapshot, ""))
    arms = [run.run_id for run in runs.values() if run.tags["level"] == "arm"][:COMPARED]
    chosen = f"runs={quote(json.dumps(arms))}&experiments={quote(json.dumps([known.identifier]))}"
    yield Screen("ui-compare", f"{base}/#/compare-runs?{chosen}", 1440, 810)
    trials = [run for run in runs.values() if run.tags["level"] == "trial"]
    trial = next((run for run in trials if "stop_reason" in run.tags), trials[-1])
    yield Screen("ui-trial", f"{base}/#/experiments/{known.identifier}/runs/{trial.run_id}", 1440, 810)


def live_screen(folder: Path) -> Screen:
    """Return the screen of the live view: the command's own drawing of a simulated run, half of it done."""
    simulated = import_module("tests.factories.simulated_training")
    console = Console(record=True, force_terminal=True, width=120, height=40, file=(folder / "live.txt").open("w"))

    class Pictured(LiveView):
        drawings: list[object] = []  # noqa: RUF012 — of the one view

        def draw(self, drawing: object, at_once: bool = False) -> None:
            self.drawings.append(drawing())  # type: ignore[operator]

    track = simulated.Track(simulated.experiment(folder), folder)
    view = Pictured(console, track.store)

    @contextmanager
    def reporter(progress: object) -> Iterator[object]:
        view.watch(progress)  # type: ignore[arg-type]
        yield lambda: view.watch(progress)  # type: ignore[arg-type]

    track.reporter = reporter
    track.run()
    console.print(view.drawings[len(view.drawings) // 2])
    console.save_svg(str(folder / "live.svg"), title="steeplechase run")
    return Screen("live", (folder / "live.svg").as_uri(), 1238, 320)


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
        f"--blink-settings=preferredColorScheme={0 if screen.dark else 1}",
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
    command = [sys.executable, "-m", "commands.main", "ui", str(results), "--port", str(PORT)]
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


def screens(browser: str, folder: Path, beside: Path | None, out: Path) -> Iterator[str]:
    """Take every screen; yield the names."""
    with tempfile.TemporaryDirectory(prefix="steeplechase-screens-") as name:
        scratch = Path(name)
        snapshot = snapshot_at(folder)
        other = None if beside is None else snapshot_at(beside)
        report, explorer = scratch / "report.html", scratch / "explore.html"
        report.write_text(render(build(snapshot, example_tables=kept_example_tables(folder)), "html"), "utf-8")
        explore(folder, explorer)
        store = TrackingStore.resolve(scratch / "results", None, {})
        store.results_root.mkdir()
        for each in filter(None, (other, snapshot)):  # the last one opens
            mirror(each, store)
        pictures = [*report_screens(report, explorer), live_screen(scratch)]
        with served(store.results_root):
            for screen in [*pictures, *dashboard_screens(store, snapshot, other)]:
                take(browser, screen, out, scratch)
                yield screen.name


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the screens; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.screens", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--beside", type=Path, help="the same experiment at another scale")
    parser.add_argument("--out", type=Path, default=SCREENS)
    chosen = parser.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.stderr.write(f"needs one of {', '.join(BROWSERS)} on the path: apt-get install chromium\n")
        return 5
    chosen.out.mkdir(parents=True, exist_ok=True)
    try:
        for name in screens(browser, chosen.folder, chosen.beside, chosen.out.resolve()):
            sys.stdout.write(f"{chosen.out / name}.png\n")
    except UserError as refused:
        sys.stderr.write("".join(f"{line}\n" for line in refused.lines))
        return refused.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
