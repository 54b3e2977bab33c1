"""Probe of a cluster's nodes before any stage runs: each must see the results folder and compute as the driver does.

The key of a stage holds the library versions and the compiled operators of the driver, so that a node with others
would store its results under a wrong key.
"""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from models.kernels.native.build import arithmetic
from runners.stages.declarations import KINDS
from runners.stages.stage import installed_version

OPERATORS = "operators"


@dataclass(frozen=True)
class NodeReport:
    """What one node answers."""

    node: str
    """Host name and address, for messages."""
    sees_results: bool
    environment: Mapping[str, str]
    """Versions of the libraries that enter the keys of stages, and the implementation of the operators."""


def sees(visible: Path, token: str) -> bool:
    """Return whether this process reads the token in the file that the driver has written."""
    try:
        return visible.read_text() == token
    except OSError:
        return False


def named(address: str) -> str:
    """Return the name of this node in messages."""
    return f"{socket.gethostname()} ({address})"


def environment() -> dict[str, str]:
    """Return what the keys of stages hold of this machine."""
    libraries = sorted({library for kind in KINDS.values() for library in kind.libraries})
    return {**{name: installed_version(name) for name in libraries}, OPERATORS: arithmetic()}


def report_of(address: str, visible: Path, token: str) -> NodeReport:
    """Return the report of this node."""
    return NodeReport(named(address), sees(visible, token), environment())


def not_seen(node: str, visible: Path) -> str:
    """Return the line about a node that does not see the results folder."""
    return (
        f"Ray node {node} does not see {visible.parent.parent}, where the driver keeps its results; "
        "put --out on a file system that all nodes share"
    )


def mistakes(reports: list[NodeReport], visible: Path, driver: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for every node that cannot run stages of this driver."""
    for report in sorted(reports, key=lambda each: each.node):
        if not report.sees_results:
            yield not_seen(report.node, visible)
        differing = [name for name in driver if report.environment.get(name) != driver[name]]
        if differing:
            values = ", ".join(f"{name} {report.environment.get(name)} for {driver[name]}" for name in differing)
            remedy = "install the same versions and the same C compiler, or set STEEPLECHASE_NATIVE=0 everywhere"
            yield f"Ray node {report.node} would compute other numbers than the driver: {values}; {remedy}"
