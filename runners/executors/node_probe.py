"""Probe of a cluster's nodes before any stage runs: each must see the results folder and compute as the driver does.

The key of a stage holds the library versions and the compiled operators of the driver, so that a node with others
would store its results under a wrong key.
"""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.stages.stage import installed_version, stage_kinds
from steeplechase.foundation.devices import CARD, NONE, accelerator
from steeplechase.foundation.errors import MachineError
from steeplechase.ledger.object_store import ObjectStore
from steeplechase.models.kernels.native.build import arithmetic

OPERATORS = "operators"


@dataclass(frozen=True)
class NodeReport:
    """What one node answers."""

    node: str
    """Host name and address, for messages."""
    unseen: str
    """Why it does not see the results; empty if it does."""
    environment: Mapping[str, str]
    """Versions of the libraries that enter the keys of stages, and the implementation of the operators."""


def unseen(node: str, visible: Path, token: str, objects: str) -> str:
    """Return a line if this process does not read the token in the driver's file or object; else an empty text."""
    if objects:
        try:
            found = ObjectStore(objects).answers(token)
        except MachineError as error:
            return f"Ray node {node} cannot read the object store: {error}"
        return "" if found else f"Ray node {node} does not find what the driver has written to {objects}"
    try:
        found = visible.read_text() == token
    except OSError:
        found = False
    remedy = "put --out on a file system that all nodes share, or add --store"
    place = visible.parent.parent
    return "" if found else f"Ray node {node} does not see {place}, where the driver keeps its results; {remedy}"


def named(address: str) -> str:
    """Return the name of this node in messages."""
    return f"{socket.gethostname()} ({address})"


def environment(trains_on_gpu: bool = False) -> dict[str, str]:
    """Return what the keys of stages hold of this machine, of stages on a GPU its card, CUDA and Triton too."""
    libraries = sorted({library for kind in stage_kinds().values() for library in kind.libraries})
    gpu = accelerator() if trains_on_gpu else {}
    return {**{name: installed_version(name) for name in libraries}, OPERATORS: arithmetic(), **gpu}


def report_of(address: str, visible: Path, token: str, objects: str = "", trains_on_gpu: bool = False) -> NodeReport:
    """Return the report of this node."""
    node = named(address)
    return NodeReport(node, unseen(node, visible, token, objects), environment(trains_on_gpu))


def mistakes(reports: list[NodeReport], driver: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for every node that cannot run stages of this driver."""
    for report in sorted(reports, key=lambda each: each.node):
        if report.unseen:
            yield report.unseen
        differing = [name for name in driver if report.environment.get(name) != driver[name]]
        if differing:
            values = ", ".join(f"{name} {report.environment.get(name)} for {driver[name]}" for name in differing)
            remedy = "install the same versions and the same C compiler, or set STEEPLECHASE_NATIVE=0 everywhere"
            if driver.get("card") == NONE and report.environment.get("card") != NONE:
                remedy = f"set {CARD}='{report.environment.get('card')}' for the driver, which has no GPU of its own"
            yield f"Ray node {report.node} would compute other numbers than the driver: {values}; {remedy}"
