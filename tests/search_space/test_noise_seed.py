"""A noise seed changes the random draws only; its default changes nothing."""

from hypothesis import given
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.overrides import apply, difference
from search_space.recipe import Recipe
from steeplechase.foundation.canonical import canonical

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_a_noise_seed_changes_the_root_seed_and_its_default_does_not(seed: int) -> None:
    assert Recipe().root_seed(seed) == seed
    assert "noise_seed" not in canonical(Recipe(noise_seed=0))


@given(st.tuples(SEEDS, st.integers(0, 99)), st.tuples(SEEDS, st.integers(1, 99)))
def test_replicas_and_seeds_never_share_a_stream(first: tuple[int, int], second: tuple[int, int]) -> None:
    roots = [Recipe(noise_seed=noise_seed).root_seed(seed) for seed, noise_seed in (first, second)]
    assert (roots[0] == roots[1]) is (first == second)


def test_a_replica_is_a_candidate_of_its_own_that_costs_the_same() -> None:
    noise_seed = apply(Candidate(), {"recipe.noise_seed": 3})
    assert difference(Candidate(), noise_seed) == {"recipe.noise_seed": 3}
    assert noise_seed.train_flops(10**6, noise_seed.architecture) == Candidate().train_flops(
        10**6, noise_seed.architecture
    )
