"""Prints, for every package, import cycles between its parts: sub-folders, files in its root and its `__init__`.

Imports between files are mapped to the parts that contain them; imports inside functions count too. Parts on a cycle
cannot be read, tested or moved separately. Run by `make check`; the exit code is 1 if there is a cycle.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parents[1]


def root_packages(root: Path) -> list[str]:
    """Return the packages of modules that setuptools installs, in alphabetical order."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    names = sorted(name.removesuffix("*") for name in patterns)
    return [name for name in names if next((root / name).rglob("*.py"), None) is not None]


def circles(graph: grimp.ImportGraph, package: str) -> Iterator[list[str]]:
    """Yield every set of children of a package that form an import cycle."""
    children = sorted({package, *graph.find_children(package)})
    inside = {child: {child, *(graph.find_descendants(child) if child != package else ())} for child in children}
    needs = np.array(
        [
            [source != target and _imports(graph, inside[source], inside[target]) for target in children]
            for source in children
        ],
        dtype=bool,
    ).reshape(len(children), len(children))
    if not needs.any():
        return
    _, labels = connected_components(needs, directed=True, connection="strong")
    for label in range(labels.max() + 1):
        members = [child for child, own in zip(children, labels, strict=True) if own == label]
        if len(members) > 1:
            yield members


def _imports(graph: grimp.ImportGraph, source: set[str], target: set[str]) -> bool:
    return any(graph.find_modules_directly_imported_by(module) & target for module in source)


def main() -> int:
    """Print one line per package and per cycle; return the exit code."""
    sys.path.insert(0, str(ROOT))
    roots = root_packages(ROOT)
    graph = grimp.build_graph(*roots, cache_dir=None)
    total = 0
    for root in roots:
        packages = [root, *(name for name in sorted(graph.find_descendants(root)) if graph.find_children(name))]
        cycles = [circle for package in packages for circle in circles(graph, package)]
        total += len(cycles)
        sys.stdout.write(f"{root}: {len(cycles)} folder-level circles in {len(packages)} packages\n")
        for circle in cycles:
            sys.stdout.write(f"  {', '.join(circle)}\n")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
