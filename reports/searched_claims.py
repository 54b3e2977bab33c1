"""Claims on searches of one space at equal cost, from what each search found at its seeds (`search compare`).

Differences are paired by search seed where both searches have the same. All claims of a paper's claim on searches are
one family. The replicates are search seeds on one table: the variation over pretraining seeds is in no interval.
"""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reports.claim_row import TOO_MANY_SEEDS, ClaimRow, PowerBySeeds, judged
from reports.paper_claims_file import FILE, SearchTest
from reports.search_comparison import BY_SEED
from reports.statistics.claims import ClaimOutcome, JudgedClaim, decide, family_of
from reports.statistics.search_comparison import seeds_test
from steeplechase.analysis.difference import ALPHA, Difference, SeedValues
from steeplechase.analysis.effects import difference_of, estimate
from steeplechase.analysis.estimates import Estimates
from steeplechase.configuration.claims import Claim, parse_claim
from steeplechase.foundation.errors import ConfigurationError, MachineError

DECIMALS = 3
REPLICATES = "search seeds, 1 table"


@dataclass(frozen=True)
class _Pair:
    """A claim with the values that it compares."""

    test: SearchTest
    claim: Claim
    values: SeedValues
    others: SeedValues

    @property
    def estimate(self) -> Estimates:
        return estimate(self.values, self.others, seeds_test(self.values, self.others))

    @property
    def difference(self) -> Difference:
        return difference_of(self.values, self.others, test=seeds_test(self.values, self.others))


def searched_claims(tests: Sequence[SearchTest], root: Path) -> Iterator[ClaimRow]:
    """Yield a row per claim; the folders of the tests are in `root`. Raises MachineError, ConfigurationError."""
    pairs = [_pair(test, parse_claim(text), root) for test in tests for text in test.claims]
    tested = [decide(pair.claim, pair.estimate, pair.difference) for pair in pairs]
    for pair, found in zip(pairs, family_of(tested), strict=True):
        yield _row(pair, found, ALPHA / len({each.key for each in tested}))


def _row(pair: _Pair, found: JudgedClaim, level: float) -> ClaimRow:
    row = judged(pair.claim, found.outcome, pair.estimate, pair.difference, level, DECIMALS)
    needed = PowerBySeeds(pair.claim, pair.estimate, pair.difference.n, level).seeds_needed
    undecided = (f"{needed} seeds would decide it" if needed else TOO_MANY_SEEDS,)
    named = "/".join(Path(pair.test.folder).parts[-2:])
    return replace(
        row,
        experiment=f"{named} {pair.test.scale}",
        scope=pair.test.scope,
        replicates=REPLICATES,
        caveats=undecided if found.outcome is ClaimOutcome.UNDECIDED else (),
    )


def _pair(test: SearchTest, claim: Claim, root: Path) -> _Pair:
    file = root / test.folder / "tables" / f"{BY_SEED}.csv"
    found = _by_seed(file, claim.metric)
    missing = [search for search in claim.arms if search not in found]
    if missing:
        known = ", ".join(found)
        raise ConfigurationError(
            f"{FILE}: {file}: no search {' and '.join(missing)} with {claim.metric}; it has {known}"
        )
    return _Pair(test, claim, found[claim.first], found[claim.second])


def _by_seed(file: Path, metric: str) -> Mapping[str, SeedValues]:
    """Return a column of a comparison's values by search and seed."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                if row.get(metric):
                    found[row["search"]][int(row["seed"])] = float(row[metric])
    except OSError:
        raise MachineError(f"{file}: no such file; `steeplechase search compare --out` writes it") from None
    return found
