"""A published ledger with the arms of other designs, whose values are the sum of what their changes contribute."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from reports.statistics.reading import results_of
from reports.statistics.results import Results
from search_space.candidate import Candidate
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs.point import PointDesign
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.example_tables import kept_example_tables
from steeplechase.ledger.snapshot import snapshot
from tests.factories.altered_ledgers import Ledger
from tests.factories.paths import ROOT

EFFECTS = {"bottleneck_ratio": 0.05, "convolution": -0.6, "feed_forward_groups": 0.02, "depth": -0.1}
TOGETHER = 0.15
"""Added to the loss where a bottleneck and a convolution meet."""


def results_with(
    folder: Path, designs: Iterable[PointDesign], alterations: Iterable[Callable[[Ledger], None]] = ()
) -> Results:
    """Return the results of the designs' arms; their ledger is written into an empty folder."""
    shutil.copytree(ROOT / "reports" / "published" / "table8-laptop", folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "ledger" / "examples")
    ledger = Ledger(folder)
    for alter in (with_designs(*designs), *alterations):
        alter(ledger)
    ledger.write()
    return results_of(snapshot(read_export(folder)), example_tables=kept_example_tables(folder))


def with_designs(*designs: PointDesign) -> Callable[[Ledger], None]:
    """Return what gives a ledger the arms of designs in place of its own; they keep its seeds and tasks."""

    def alter(ledger: Ledger) -> None:
        rows = {row["name"]: row for row in ledger.rows["arms"]}
        baseline = Candidate.model_validate(json.loads(rows[BASELINE]["candidate"]))
        ledger.document["design"] = [design.model_dump(mode="json") for design in designs]
        arm_table = ArmTable(baseline, Rules())
        for design in designs:
            arm_table.add_design(design, ())
        assert arm_table.violations == []
        _keep_baseline(ledger)
        for position, arm in enumerate(arm_table.arms):
            if arm.name != BASELINE:
                _add(ledger, arm, position)

    return alter


def _keep_baseline(ledger: Ledger) -> None:
    ledger.rows["arms"] = [row for row in ledger.rows["arms"] if row["name"] == BASELINE]
    ledger.rows["trials"] = [row for row in ledger.rows["trials"] if row["arm"] == BASELINE]
    kept = {"", *(row["name"] for row in ledger.rows["trials"])}
    ledger.rows["records"] = [row for row in ledger.rows["records"] if row["trial"] in kept]


def _add(ledger: Ledger, arm: Arm, position: int) -> None:
    """Add an arm whose trials are the baseline's with other values."""
    texts = {"candidate": canonical_text(canonical(arm.candidate))}
    texts |= {"changes": json.dumps(dict(arm.changes)), "levels": json.dumps(dict(arm.levels))}
    ledger.rows["arms"].append({**ledger.rows["arms"][0], "name": arm.name, "position": str(position), **texts})
    random = np.random.default_rng(position)
    gain = sum(EFFECTS.get(path, 0.0) for path in arm.changes)
    gain += TOGETHER if {"bottleneck_ratio", "convolution"} <= arm.changes.keys() else 0.0
    for trial in [row for row in ledger.rows["trials"] if row["arm"] == BASELINE]:
        name = f"{arm.name}/{trial['seed']}"
        ledger.rows["trials"].append({**trial, "name": name, "arm": arm.name})
        for row in [row for row in ledger.rows["records"] if row["trial"] == trial["name"]]:
            result = json.loads(row["result"])
            if row["stage"] == "pretrain":
                result["held_out_loss"] += gain + random.normal(0, 0.02)
            if row["stage"] == "fine_tune":
                result["scores"] = {
                    each: score - 8 * gain + random.normal() for each, score in result["scores"].items()
                }
            number = len(ledger.rows["records"])
            own = {"sequence": str(10**7 + number), "key": hashlib.sha256(number.to_bytes(4, "big")).hexdigest()}
            ledger.rows["records"].append({**row, **own, "trial": name, "result": json.dumps(result)})
