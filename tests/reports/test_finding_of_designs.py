"""The finding on the effects of a design: single changes, and the factors of a crossed one."""

from itertools import product

from reports.report import build
from tests.factories.reports import Trial, document, snapshot, table2


def test_isolated_effect_of_convolution_is_reported() -> None:
    effect = "The effect of convolution alone, span_dynamic against bottleneck (without correction)"
    clause = f"{effect}: held-out loss better (−0.202 ["
    assert clause in build(table2()).finding


def crossed(lower: dict[str, float], period: int = 3, **more: str) -> str:
    """Return the finding on a factorial of two axes, in which some arms end lower than the others by so many nats."""
    arms: dict[str, dict[str, int]] = {"baseline": {}}
    for heads, ratio in product((4, 2, 8), (1, 2, 4)):
        changes = {"heads": heads} if heads != 4 else {}
        changes |= {"bottleneck_ratio": ratio} if ratio != 1 else {}
        if changes:
            arms["".join(f"{path[0]}{value}" for path, value in changes.items())] = changes
    trials = [
        Trial(arm, seed).pretrained(6.0 - lower.get(arm, 0.0) + 0.01 * ((seed + position) * position % period))
        for position, arm in enumerate(arms)
        for seed in (1, 2, 3)
    ]
    return build(snapshot(trials, arms=arms, resolved=document(seeds=(1, 2, 3), **more))).finding


def test_of_many_single_change_effects_those_told_apart_are_named() -> None:
    assert "comparisons (without correction) none has an interval that excludes 0. Arms " in crossed({})
    one = crossed({"h2b4": 0.2, "h2": 0.2})
    assert "Of 8 single-change comparisons (without correction) 2 have an interval that excludes 0 (" in one
    assert "heads alone, h2b4 against b4: held-out loss better (−0.2" in one
    many = crossed({"h2b4": 0.2, "h8b4": 0.4, "h8b2": -0.3})
    assert many.partition(". Arms ")[0].endswith("have an interval that excludes 0")


def test_a_crossed_design_begins_with_its_own_family() -> None:
    none = crossed({}, period=7, comparison="paired")
    assert none.startswith(
        "On held-out loss none of 4 main effects and none of 3 interactions are significant after Holm's correction "
        "over 7 tests. On"
    )  # the fourth interaction shows no spread, hence has no test
    lower = dict.fromkeys(("h2", "h2b2", "h2b4"), 0.9) | {"h8b4": 0.9}
    report = crossed(lower, period=7, comparison="paired")
    assert (
        "3 of 4 main effects and none of 3 interactions are significant after Holm's correction over 7 tests, namely "
        in report
    )
    assert "namely heads=2 (Δ −0.892 [" in report
    assert (
        report.index("main effects") < report.index("has the best mean") < report.index("single-change comparisons")
    )
    alone = crossed({"h2b4": 0.06}, period=7, comparison="paired")
    assert "tests; significant without correction only: " in alone
