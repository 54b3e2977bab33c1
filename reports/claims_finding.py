"""The finding's clauses on claims: how many of the paper's orderings and of the experiment's claims hold."""

from collections import Counter
from collections.abc import Iterator

from reports.statistics.claims import EXPERIMENT, PAPER, ClaimOutcome, JudgedClaim, judged_claims
from reports.statistics.results import Results

NOUNS = {PAPER: "tested ordering{} of the paper", EXPERIMENT: "claim{} of the experiment"}


def claims_clauses(results: Results) -> Iterator[str]:
    """Yield the number of supported, contradicted and undecided claims by who states them; none without claims."""
    judged = judged_claims(results)
    for by, noun in NOUNS.items():
        stated = {one.tested.key: one for one in judged if one.tested.by == by}
        if stated:
            yield _clause(noun, [*stated.values()])


def _clause(noun: str, judged: list[JudgedClaim]) -> str:
    if len(judged) == 1:
        return f"the only {noun.format('')} is {judged[0].outcome}"
    count = Counter(one.outcome for one in judged)
    supported = count.pop(ClaimOutcome.SUPPORTED, 0)
    parts = [f"{supported or 'none'} {'are' if supported > 1 else 'is'} supported"]
    parts += [f"{count[outcome]} {outcome}" for outcome in ClaimOutcome if count[outcome]]
    return f"of {len(judged)} {noun.format('s')} {', '.join(parts)}"
