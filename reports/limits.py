"""What a report cannot say: the box at its top, of size, tokens, passes over the text, margins and references."""

from collections.abc import Iterator

from reports.claim_row import scope_text
from reports.sections.latency import measured_on
from reports.statistics.experiment import margins_of
from reports.statistics.latency import latencies_of
from reports.statistics.results import Results
from steeplechase.analysis.proportions import unseen_at_most


def limits_of(results: Results) -> str:
    """Return the sentences of the box; empty without latencies and without a finished table of pretrained arms."""
    pretrained = _sentences(results) if results.arms and results.experiment.pretrains else ()
    return " ".join((*pretrained, *_of_latencies(results)))


def _of_latencies(results: Results) -> Iterator[str]:
    found = results.once(latencies_of)
    if found is not None and found.timed:
        yield f"Whether a model takes less time elsewhere: timed was {measured_on(found)}, in one run on one machine."


def _sentences(results: Results) -> Iterator[str]:
    positions = dict.fromkeys(arm.candidate.architecture.position.kind for arm in results.arms)
    names = ", ".join(position.replace("_", " ") for position in positions)
    yield (
        f"Whether other sizes, texts or budgets give the same order: the models have "
        f"{scope_text(results, [arm.name for arm in results.arms])}, {names} positions, and one split of one text."
    )
    if margins := margins_of(results.experiment):
        named = ", ".join(f"{value:g} on {metric}" for metric, value in margins.items())
        yield f"What counts as level: the margins ({named}) are the experiment's own, from no paper."
    if below := results.below_reference:
        yield f"Anything of {', '.join(below)}: the arms do not exceed references that need no model."
    if seeds := results.seeds_in_all:
        share = 100 * unseen_at_most(seeds)
        yield f"How often a run fails: what did not happen in {seeds} may happen in up to {share:.0f}% of runs (95%)."
