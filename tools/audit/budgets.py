"""Gaps in held-out loss to the baseline with the same budget, of arms that differ in `recipe.token_share` alone."""

import json
from collections.abc import Iterator

from tools.audit.exports import BASELINE, LOSS, Row
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

SHARE = "token_share"


def gaps(study: Study, _: Published) -> Iterator[Row]:
    """Yield the gap of each arm at every budget that it shares with the baseline, two at least."""
    groups: dict[str, dict[float, str]] = {}
    for arm in study.export.arms:
        recipe = arm.candidate.get("recipe", {})
        without = {name: value for name, value in recipe.items() if name != SHARE}
        rest = json.dumps({**arm.candidate, "recipe": without}, sort_keys=True)
        groups.setdefault(rest, {}).setdefault(float(recipe.get(SHARE, 1.0)), arm.name)
    reference = next(group for group in groups.values() if BASELINE in group.values())
    whole = next(share for share, arm in reference.items() if arm == BASELINE)
    for group in groups.values():
        shared = sorted(group.keys() & reference.keys())
        if group is reference or len(shared) < 2:
            continue
        name = group[max((share for share in shared if share <= whole), default=shared[0])]
        for share in shared:
            own, other = group[share], reference[share]
            found = study.interval(study.difference(own, other, LOSS), own, other)
            tokens = round(share * study.document["pretraining"]["tokens"])
            yield {"architecture": name, "arm": own, "reference": other, "tokens": tokens, **found}


RULES = {"gap_by_budget": Rule(("architecture", "arm"), gaps)}
