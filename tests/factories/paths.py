"""Where tests find the repository's own files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
PUBLISHED = ROOT / "reports" / "published"
