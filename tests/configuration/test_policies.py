"""What every policy of evolution promises; a new file of the folder is tested at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.configuration.policies import POLICIES, policy_of
from steeplechase.configuration.policies.policy import Tournament

SHARES = st.lists(st.floats(0.01, 0.99), max_size=5, unique=True).map(lambda shares: [*sorted(shares), 1.0])
SETTINGS = st.builds(
    Tournament, population=st.integers(1, 9), tournament_size=st.just(1), trained_share=st.floats(0.01, 1)
)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_has_the_name_of_its_file(name: str) -> None:
    assert policy_of(name).kind == name


@pytest.mark.parametrize("name", POLICIES)
@given(shares=SHARES, settings=SETTINGS)
def test_a_child_may_stop_at_points_of_a_training(name: str, shares: list[float], settings: Tournament) -> None:
    policy = policy_of(name)
    points = policy.points(shares, settings)
    assert points
    assert [*points] == sorted(set(points))
    assert points[0] >= 1
    assert points[-1] <= len(shares)
    if policy.trains_to_the_end(settings):
        assert points == (len(shares),)


@pytest.mark.parametrize("name", POLICIES)
@given(shares=SHARES, settings=SETTINGS, trainings=st.floats(0.1, 20), asked=st.integers(0, 20))
def test_no_more_finish_than_are_asked_for_and_paid_for(
    name: str, shares: list[float], settings: Tournament, trainings: float, asked: int
) -> None:
    rungs = shares[:-1]
    assert policy_of(name).most_finished(trainings, rungs, settings, asked) <= min(asked, trainings)
    assert f"{trainings:g}" in policy_of(name).limit(trainings, len(rungs), settings) or settings.trained_share < 1


@pytest.mark.parametrize("name", POLICIES)
@given(losses=st.lists(st.floats(0, 9), min_size=1, max_size=6), data=st.data())
def test_one_member_of_the_population_dies(name: str, losses: list[float], data: st.DataObject) -> None:
    places = st.lists(st.integers(0, len(losses) - 1), min_size=1, unique=True)
    assert policy_of(name).dies(losses, lambda: data.draw(places)) in range(len(losses))
