"""Arms at other budgets: copies with the baseline's, and gaps to the baseline at the same number of tokens.

A copy is an arm whose size is chosen so that its parameters or FLOPs are about the baseline's. The gaps are of arms
that differ in `recipe.token_share` alone.
"""

import json
from collections.abc import Iterator

from tools.audit.exports import BASELINE, LOSS, Row
from tools.audit.rule import NotRecomputed, Published, Rule
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


def copies(study: Study) -> dict[str, str]:
    """Return by arm its copy at the baseline's budget."""
    return {arm.name: arm.copy for arm in study.export.arms if arm.copy}


def at_budget(study: Study, arm: str, metric: str) -> Row:
    """Return the columns of a result on the arm's copy; nothing but their names for an arm without one."""
    copy = copies(study).get(arm)
    if copy is None:
        return {f"matched_{name}": None for name in ("arm", "spend", "n", "delta", "low", "high")}
    found = study.interval(study.difference(copy, BASELINE, metric), copy)
    return {"matched_arm": copy, "matched_spend": _share(study, copy), **_prefixed("matched", found)}


def matched(study: Study, _: Published) -> Iterator[Row]:
    """Yield each arm's difference as declared and that of its copy, with what the copy spends."""
    budget = str((study.document.get("match") or {}).get("budget"))
    costs = {arm.name: arm.costs.get(budget) for arm in study.export.arms}
    for arm, copy in copies(study).items():
        spends = {"spends": costs[copy], "baseline_spends": costs[BASELINE], "share": _share(study, copy)}
        for metric in study.metrics:
            raw = study.interval(study.difference(arm, BASELINE, metric), arm)
            found = study.interval(study.difference(copy, BASELINE, metric), copy)
            named = {"arm": arm, "matched_arm": copy, "metric": metric}
            yield {**named, **spends, **_prefixed("raw", raw), **_prefixed("matched", found)}


def _share(study: Study, copy: str) -> float | NotRecomputed:
    budget = study.document["match"]["budget"]
    costs = {arm.name: arm.costs.get(budget) for arm in study.export.arms}
    own, whole = costs[copy], costs[BASELINE]
    return own / whole if own and whole else NotRecomputed("measured in seconds, which the export does not have")


def _prefixed(name: str, found: Row) -> Row:
    return {f"{name}_{column}": value for column, value in found.items()}


SETTING = "a setting of the experiment, no measurement"
RULES = {
    "gap_by_budget": Rule(("architecture", "arm"), gaps),
    "matched": Rule(("arm", "metric"), matched, {"budget": SETTING, "tolerance": SETTING}),
}
