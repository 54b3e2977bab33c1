"""The finding: a computed sentence, null results included."""

from itertools import product

from building import Trial, document, empty, full_trial, search, snapshot, table2, troubled

from reports.report import build


def two_arms(differences: dict[int, float], seeds: tuple[int, ...] = (1, 2, 3)) -> str:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in seeds]
    trials += [Trial("wide", seed).pretrained(6.0 + differences[seed]) for seed in seeds]
    view = snapshot(trials, arms={"baseline": {}, "wide": {"width": 512}}, resolved=document(seeds=seeds))
    return build(view).finding


def test_a_better_arm_is_named_with_its_interval_and_n() -> None:
    expected = "On held-out loss wide is best and better than the baseline (Δ −0.200 [−0.225, −0.175], n = 3)."
    assert two_arms({1: -0.21, 2: -0.19, 3: -0.2}) == expected


def test_a_null_result_says_so() -> None:
    assert "wide, cannot be told from the baseline" in two_arms({1: -0.3, 2: 0.2, 3: -0.1})


def test_an_interval_beside_zero_that_correction_undoes_is_told_as_that() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in (1, 2, 3)]
    for arm, gains in {"wide": (0.09, 0.2, 0.14), "deep": (0.1, -0.1, 0.02), "narrow": (-0.1, 0.1, 0.0)}.items():
        trials += [Trial(arm, seed).pretrained(6.0 - gain) for seed, gain in enumerate(gains, start=1)]
    arms = {"baseline": {}, "wide": {"width": 512}, "deep": {"depth": 6}, "narrow": {"width": 128}}
    told = build(snapshot(trials, arms=arms, resolved=document(seeds=(1, 2, 3)))).finding
    assert "the best arm, wide, cannot be told from the baseline after Holm's correction (Δ −0.14" in told


def test_a_worse_arm_does_not_become_best_for_being_alone() -> None:
    assert "no arm reaches the baseline (nearest: wide" in two_arms({1: 0.21, 2: 0.19, 3: 0.2})


def test_one_seed_tells_nothing_apart() -> None:
    assert "no difference can be told from one seed" in two_arms({1: -3.0}, seeds=(1,))


def test_nothing_measured_is_said() -> None:
    assert build(empty()).finding.startswith("No result yet: 0 of 0 trials have ended")
    assert build(snapshot([Trial("baseline", 1).diverged()])).finding.startswith("No result yet: 1 of 15")


def test_isolated_effect_of_convolution_is_told() -> None:
    effect = "the effect of convolution alone, span_dynamic against bottleneck, uncorrected"
    clause = f"{effect}: held-out loss better (−0.202 ["
    assert clause in build(table2()).finding


def crossed(lower: dict[str, float]) -> str:
    """Return the finding on a factorial of two axes, in which some arms end lower than the others by so many nats."""
    arms: dict[str, dict[str, int]] = {"baseline": {}}
    for heads, ratio in product((4, 2, 8), (1, 2, 4)):
        changes = {"heads": heads} if heads != 4 else {}
        changes |= {"bottleneck_ratio": ratio} if ratio != 1 else {}
        if changes:
            arms["".join(f"{path[0]}{value}" for path, value in changes.items())] = changes
    trials = [
        Trial(arm, seed).pretrained(6.0 - lower.get(arm, 0.0) + 0.01 * ((seed + place) * place % 3))
        for place, arm in enumerate(arms)
        for seed in (1, 2, 3)
    ]
    return build(snapshot(trials, arms=arms, resolved=document(seeds=(1, 2, 3)))).finding


def test_of_many_effects_alone_those_told_apart_are_named() -> None:
    assert crossed({}).endswith("of 8 effects of one change alone, uncorrected, none told apart.")
    one = crossed({"h2b4": 0.2, "h2": 0.2})
    assert "of 8 effects of one change alone, uncorrected, 2 told apart (" in one
    assert "heads alone, h2b4 against b4: held-out loss better (−0.2" in one
    many = crossed({"h2b4": 0.2, "h8b4": 0.4, "h8b2": -0.3})
    assert many.endswith("told apart.")


def test_a_running_experiment_says_how_far_it_is() -> None:
    assert build(troubled()).finding.startswith("So far, with 13 of 15 trials ended: on held-out loss")


def test_a_finding_is_one_sentence() -> None:
    for view in (table2(), troubled(), search(), empty()):
        finding = build(view).finding
        assert finding.endswith(".")
        assert ". " not in finding


def test_a_search_compares_where_both_have_been() -> None:
    assert build(search()).finding == (
        "Of 3 candidates 1 came through; the best is c001 (convolution span_dynamic (kernel_size 5)) at 2M tokens, "
        "which is not distinguishable from the baseline by held-out loss at 500k tokens, the furthest that both "
        "reached (Δ −0.200 [?], n = 1)."
    )


def test_one_task_speaks_in_place_of_a_score() -> None:
    trials = [full_trial("baseline", seed, ("docs_pair",)) for seed in (1, 2, 3)]
    assert "on docs_pair only the baseline" in build(snapshot(trials, tasks=("docs_pair",))).finding
