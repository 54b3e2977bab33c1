"""`steeplechase init`: the experiments and their schema in a folder of one's own."""

import shutil

from steeplechase.commands.arguments import NewFolder
from steeplechase.configuration.yaml.experiment_files import INSTALLED, SUFFIX, experiment_files
from steeplechase.foundation.atomic_files import atomic_directory
from steeplechase.foundation.errors import MachineError


def init(folder: NewFolder) -> None:
    """Copy the experiments and their schema into FOLDER/experiments, to be changed there."""
    if not INSTALLED.is_dir():
        raise MachineError(f"{INSTALLED}: no such folder; install steeplechase again")
    target = folder / INSTALLED.name
    with atomic_directory(target) as temporary:
        shutil.copytree(INSTALLED, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    count = sum(1 for _ in target.rglob(f"*{SUFFIX}"))
    print(  # noqa: T201
        f"written: {count} experiments and their schema in {target}\n"
        f"next: cd {folder} && steeplechase plan {next(iter(experiment_files()))}"
    )
