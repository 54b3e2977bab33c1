"""Where tests find the repository's own files."""

from pathlib import Path

from steeplechase.configuration.yaml.experiment_files import OF_CHECKPOINT

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
EXPERIMENT_FILES = sorted(
    path.relative_to(EXPERIMENTS).as_posix() for path in EXPERIMENTS.rglob("*.yaml") if path.name != OF_CHECKPOINT
)
"""Relative to the folder, sub-folders included."""
PUBLISHED = ROOT / "reports" / "published"
