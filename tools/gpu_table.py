"""The table of `docs/gpu.md`: estimated GPU hours of experiments on cards, as `plan` tells them where no card is."""

from collections.abc import Iterator

from runners.cost_estimate.gpu_hours import USUAL, memory_by_arm, trial_work
from search_space.cards import CARDS
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.yaml.experiment_files import experiment_files

TOGETHER = 8
"""Cards whose hours are told too."""


def gpu_hour_rows(*experiments: str) -> Iterator[str]:
    """Yield a table row for each `name@scale`: memory, hours on one card, and on several of the same kind."""
    cards = [next(card for card in CARDS if card.name == name) for name in USUAL]
    titles = " | ".join(f"{name}, hours" for name in USUAL)
    yield f"| experiment | scale | GPU memory | {titles} | {TOGETHER} x H100 |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for each in experiments:
        name, _, scale = each.partition("@")
        experiment = load_experiment(experiment_files()[name], scale)
        works = [trial_work(experiment, arm.candidate) for arm in experiment.arms]
        trials, seeds = [[work.hours(card).total for work in works] for card in cards], experiment.pretraining.seeds
        totals = dict(zip(USUAL, (len(first_seeds(seeds)) * sum(hours) for hours in trials), strict=True))
        together = max(totals["H100"] / TOGETHER, *trials[USUAL.index("H100")])
        memory = max(memory_by_arm(experiment).values()) / 2**30
        told = " | ".join(
            f"{hours:,.2g}" if hours < 10 else f"{hours:,.0f}" for hours in (*totals.values(), together)
        )
        yield f"| `{name}` | `{scale}` | {memory:,.1f} GiB | {told} |"
