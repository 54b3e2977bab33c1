"""What pages list beside numbers of reports: commands, exits from the plateau, ranges over the rows of a table."""

import pytest

from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import PUBLISHED
from tools.page_values import Published


@pytest.fixture(scope="module")
def published() -> Published:
    return Published(PUBLISHED)


def test_an_arm_with_a_seed_that_stays_on_the_plateau_has_no_range_of_exits(published: Published) -> None:
    with pytest.raises(ConfigurationError, match="of baseline leave the plateau, of"):
        published.exits("albert_table5-laptop-former", "baseline")


def test_a_range_is_of_the_rows_with_the_values(published: Published) -> None:
    table, mixed = "table9-laptop", {"arm": "mixed"}
    values = [
        float(str(published.cell(table, "results", "times_as_fast", **mixed, length=length))) for length in (64, 512)
    ]
    low, high = map(float, published.span(table, "results", "times_as_fast", decimals=6, **mixed).split(" to "))
    assert low <= min(values) <= max(values) <= high
    assert published.span(table, "results", "times_as_fast", decimals=1, arm="attention") == "1.0 to 1.0"
