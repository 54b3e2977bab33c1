"""Experiment files by name: those in `experiments/` of the working folder, and those that are installed."""

from pathlib import Path

EXPERIMENTS = "experiments"
"""The folder of experiment files, in the working folder and beside the packages."""
INSTALLED = Path(__file__).resolve().parents[3] / EXPERIMENTS
SUFFIX, SCHEMA = ".yaml", "schema.json"
OF_CHECKPOINT = "architecture.yaml"
"""The file of an initial checkpoint that is no experiment."""
SUFFIXES = (SUFFIX, ".yml")
"""Endings of a file that is named whole; the experiments of a folder have the first."""


def experiment_files() -> dict[str, Path]:
    """Return the experiment files by name, such as `table2` or `bert/table5`; those of the working folder win."""
    found: dict[str, Path] = {}
    for folder in (INSTALLED, Path(EXPERIMENTS)):
        files = (file for file in sorted(folder.rglob(f"*{SUFFIX}")) if file.name != OF_CHECKPOINT)
        found |= {file.relative_to(folder).with_suffix("").as_posix(): file for file in files}
    return dict(sorted(found.items(), key=lambda each: (each[0].count("/"), each[0])))


def experiment_file(path: Path) -> Path:
    """Return the file of an experiment that is given by its name; any other path is returned unchanged.

    A file NAME.yaml in the working folder comes before the experiments.
    """
    if path.suffix or not path.name or path.is_file():
        return path
    if (own := path.with_suffix(SUFFIX)).is_file():
        return own
    return experiment_files().get(path.as_posix(), path)


def shown(name: str, file: Path) -> str:
    """Return how a user writes an experiment: its path in the working folder, or its name if it is installed."""
    return name if file.is_absolute() else str(file)
