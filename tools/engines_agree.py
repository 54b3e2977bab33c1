"""Every experiment at scale smoke by the local engine and by Ray: both must give the same report.csv, byte for byte.

`python -m tools.engines_agree [EXPERIMENT ...]` takes some 30 seconds of a core per experiment and exits 1 if a table
differs or a run fails. Each engine trains the trials; the stages that all trials share are computed once.
Experiments that train nothing are left out: no two tables of timings are equal.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from steeplechase.configuration.yaml import read_file

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ROOT / "experiments"
SCALE, ENGINES, TABLE = "smoke", ("local", "ray"), "report.csv"
SHARED = ("contamination", "corpus", "evaluation_set", "examples", "minimal_pairs", "tokens")
"""Kinds of stages that all trials share."""
SHOWN = 400


def disagreement(experiment: Path, folder: Path) -> str:
    """Return how the engines differ on an experiment; empty where they agree. Stages lie in a folder per engine."""
    tables = []
    for engine in ENGINES:
        results = folder / engine / "_".join(experiment.relative_to(experiment.anchor).with_suffix("").parts[-2:])
        for kind in SHARED if engine != ENGINES[0] else ():
            finished = folder / ENGINES[0] / "stages" / kind
            if finished.is_dir():
                shutil.copytree(finished, folder / engine / "stages" / kind, dirs_exist_ok=True)
        arguments = ("run", experiment, "--scale", SCALE, "--engine", engine, "--workers", "2", "--out", results)
        command = [sys.executable, "-m", "steeplechase.commands.main", *map(str, arguments)]
        done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return f"{engine}: exit {done.returncode}: {done.stderr.strip()[-SHOWN:]}"
        tables.append((results / TABLE).read_bytes())
    return "" if tables[0] == tables[1] else f"{TABLE} differs"


def trained_experiments() -> list[Path]:
    """Return the experiments that train and have the scale, in the order of their names."""
    found = ((path, read_file(path)) for path in sorted(EXPERIMENTS.rglob("*.yaml")))
    return [path for path, file in found if "pretraining" in file.keys and SCALE in file.scales]


def main(arguments: list[str]) -> int:
    """Compare the named experiments, or all; return the exit status."""
    chosen = [Path(name).resolve() for name in arguments] or trained_experiments()
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for place, experiment in enumerate(chosen, start=1):
            found = disagreement(experiment, Path(folder))
            differing += bool(found)
            told = f"[{place}/{len(chosen)}] {experiment}: {found or 'the same table'}".replace(f"{ROOT}/", "")
            print(told, flush=True)  # noqa: T201
    print(  # noqa: T201
        f"{len(chosen) - differing} of {len(chosen)} experiments give the same table by both engines"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
