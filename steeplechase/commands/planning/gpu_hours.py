"""Pretraining FLOPs of a plan, and the hours of it on some GPUs at a stated utilisation.

Peaks of dense matrix products: NVIDIA's data sheets of A100 (SXM), H100 (SXM) and GeForce RTX 4090. PyTorch's float32
is without TF32, its default.
"""

from collections.abc import Iterator

from reports.number_format import scientific
from steeplechase.commands.planning.plan_contents import Plan, candidates_like
from steeplechase.configuration.experiment import Experiment

FROM_FLOPS = 1e16  # minutes of a GPU
UTILISATION = 0.3
PEAKS = {
    "A100": {"bfloat16": 312e12, "float32": 19.5e12},
    "H100": {"bfloat16": 989e12, "float32": 67e12},
    "RTX 4090": {"bfloat16": 165e12, "float32": 82.6e12},
}
"""FLOP/s by precision."""


def gpu_hours(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Yield the line of the plan's pretraining FLOPs, with hours on GPUs; none of an experiment for a laptop."""
    seeds, _ = plan.values_per_cell
    total: float = seeds * sum(row.train_flops * candidates_like(experiment, row.arm) for row in plan.arms)
    total += 0 if plan.tuning is None else plan.tuning.train_flops
    if total < FROM_FLOPS:
        return
    hours = {
        card: [
            f"{_hours(total / (UTILISATION * peak))} in {precision} ({peak / 1e12:,g} TFLOP/s)"
            for precision, peak in peaks.items()
        ]
        for card, peaks in PEAKS.items()
    }
    cards = "; ".join(f"{card} {', '.join(each)}" for card, each in hours.items())
    flops = f"pretraining: {scientific(round(total))} FLOPs in all, in {experiment.baseline.recipe.precision}"
    yield (
        f"{flops}. Hours at {UTILISATION:.0%} of the peak: {cards}. Small models reach less, and fine-tuning is not "
        "counted"
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.2g}" if seconds < 360_000 else f"{seconds / 3600:,.0f}"
