"""Claims of papers on searches at equal cost, recomputed from what each search found at its seeds."""

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.audit.claims import Claim, PaperVerdict, Tested, claim_of, judged, short
from tools.audit.inference import ALPHA, BySeed, difference

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class SearchedClaim:
    """A row of the table of papers' claims that compares two searches."""

    paper_claim: str
    comparison: str
    """The last two parts of its folder, and the scale."""
    short: str
    verdict: PaperVerdict


def searched_claims(folder: Path) -> Iterator[SearchedClaim]:
    """Yield the claims on searches that `claims.toml` names; those of one paper's claim are one family."""
    document = tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))
    for claim in document["claims"]:
        named = [(by, claim_of(text)) for by in claim.get("searched_by", []) for text in by["claims"]]
        tests = [_tested(ROOT / by["folder"], text) for by, text in named]
        for (by, _), test, (verdict, *_) in zip(named, tests, judged(tests), strict=True):
            comparison = f"{'/'.join(Path(by['folder']).parts[-2:])} {by['scale']}"
            row = PaperVerdict(test, verdict, declared=True, family=len(tests))
            yield SearchedClaim(claim["id"], comparison, short(test.claim), row)


def _tested(folder: Path, claim: Claim) -> Tested:
    first, second = (_values(folder, search, claim.metric) for search in (claim.first, claim.second))
    estimate = difference(first, second, paired=len(first.keys() & second.keys()) > 1)
    low, high = estimate.interval()
    return Tested(claim, estimate, {"n": estimate.n, "delta": estimate.value, "low": low, "high": high}, ALPHA)


def _values(folder: Path, search: str, measure: str) -> BySeed:
    with (folder / "tables" / "by_seed.csv").open(encoding="utf-8", newline="") as lines:
        return {int(row["seed"]): float(row[measure]) for row in csv.DictReader(lines) if row["search"] == search}
