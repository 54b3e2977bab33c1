"""Held-out losses of published reports, read from their ledgers' rows without the project's own statistics."""

import csv
import json
from collections import defaultdict

import numpy as np

from analysis.estimates import array_of
from tests.factories.paths import ROOT


def held_out_losses(report: str) -> tuple[list[dict[str, object]], np.ndarray]:
    """Return the levels of a published report's arms and their held-out losses by seed, from its ledger's rows."""
    folder = ROOT / "reports" / "published" / report
    with (folder / "ledger" / "arms.csv").open() as file:
        levels = {row["name"]: json.loads(row["levels"]) for row in csv.DictReader(file)}
    with (folder / "ledger" / "trials.csv").open() as file:
        seeds = {row["name"]: (row["arm"], int(row["seed"])) for row in csv.DictReader(file)}
    losses: dict[str, dict[int, tuple[int, float]]] = defaultdict(dict)
    with (folder / "ledger" / "records.csv").open() as file:
        for row in csv.DictReader(file):
            result = json.loads(row["result"] or "{}")
            if row["stage"] == "pretrain" and "held_out_loss" in result:
                arm, seed = seeds[row["trial"]]
                losses[arm][seed] = max(
                    losses[arm].get(seed, (0, 0.0)), (int(result["tokens"]), float(result["held_out_loss"]))
                )
    names = list(levels)
    values = array_of([{seed: loss for seed, (_, loss) in losses[name].items()} for name in names])
    return [levels[name] for name in names], values
