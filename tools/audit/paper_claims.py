"""The table of papers' claims, `claims.md`: each test on its published experiment, and what is not run."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tools.audit.claims import (
    PaperTest,
    PaperVerdict,
    Tested,
    claim_of,
    of_single_task,
    paper_tests,
    short,
    tested,
    verdict_of,
)
from tools.audit.compare import Outcome
from tools.audit.exports import Row
from tools.audit.inference import ALPHA, MOST_SEEDS, POWER, Estimate, detectable, power, power_within, seeds_needed
from tools.audit.latencies import orderings
from tools.audit.pooled import pooled
from tools.audit.prose import plain
from tools.audit.searched_claims import searched_claims
from tools.audit.study import Study

NOTHING, UNDECLARED, UNDECIDED = "–", "not declared before the run", "undecided"
COLUMNS = ("claim", "experiment", "metric", "test", "n", "difference", "detectable", "verdict")
POOLED = ("claim", "metric", "test", "scales", "difference", "p", "between")
SMALLEST_P = 0.001
AND_EXAMPLES = ", and more examples"
UNLIMITED = 10**6
"""A number of seeds whose own variance is next to none."""
HEADING_LINES = 4
"""Of two tables: titles and rulers."""
NUMBER = re.compile(r"[+−]?\d+(?:\.\d+)?")


def check_claims(outcome: Outcome, folder: Path, studies: Mapping[str, Study]) -> None:
    """Compare every row of `claims.md` with the test that `claims.toml` names."""
    rows = list(_rows(folder / "claims.md", COLUMNS))
    lines = sum(line.startswith("| ") for line in (folder / "claims.md").read_text(encoding="utf-8").splitlines())
    known = len(rows) + len(list(_rows(folder / "claims.md", POOLED))) + HEADING_LINES
    outcome.check(("claims.md", "all tables", "lines"), str(lines), known)
    _check_pooled(outcome, folder, studies)
    for search in searched_claims(folder):
        key = (search.paper_claim, search.comparison, search.short)
        of_search = [row for row in rows if (row["claim"], row["experiment"], row["test"]) == key]
        _check_shown(outcome, " ".join(key), search.verdict, of_search)
    for declared in paper_tests(folder):
        study = studies.get(f"{declared.experiment}-{declared.scale}")
        of_test = [row for row in rows if (row["claim"], row["experiment"]) == _key(declared)]
        latency = "(" not in declared.text  # an ordering of an experiment on latency
        test = declared if study is None or latency else _as_measured(declared, study)
        shown = [
            row for row in of_test if row["test"] == _short(test) and (latency or row["metric"] == _metric(test))
        ]
        missing = study is None or (not latency and not set(_arms(test)) <= set(study.arms))
        if missing:
            named = [row for row in of_test if _short(test) in row["test"].split("`, `")]
            verdict = next((row["verdict"] for row in named), "no row")
            outcome.check(("claims.md", f"{test.paper_claim} {test.text}", "verdict"), verdict[:7], "not run")
        elif latency and study:
            _check_latency(outcome, test, study, shown)
        elif study:
            _check(outcome, test, study, studies, shown)


def _rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of the table with so many columns."""
    for line in plain(file.read_text(encoding="utf-8")).splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == len(columns) and cells[0] not in ("claim", "---"):
            yield dict(zip(columns, cells, strict=True))


def _check_pooled(outcome: Outcome, folder: Path, studies: Mapping[str, Study]) -> None:
    """Compare every claim that was tested at several scales with its differences pooled by random effects."""
    at_scales: dict[tuple[str, str, str, str], list[Estimate]] = {}
    for test in paper_tests(folder):
        study = studies.get(f"{test.experiment}-{test.scale}")
        if study is not None and "timing" not in study.document and set(_arms(test)) <= set(study.arms):
            measured = _as_measured(test, study)
            found = tested(study, claim_of(measured.text)).found
            if found.known:
                named = (test.paper_claim, test.experiment, _metric(measured), _short(test))
                at_scales.setdefault(named, []).append(found)
    several = {key: found for key, found in at_scales.items() if len(found) > 1}
    rows = _rows(folder / "claims.md", POOLED)
    shown = {(row["claim"], row["scales"].split()[0], row["metric"], row["test"]): row for row in rows}
    outcome.check(("claims.md", "pooled", "rows"), str(sorted(shown)), str(sorted(several)))
    for key in sorted(several.keys() & shown.keys()):
        row, mean, at = shown[key], pooled(several[key]), f"pooled {' '.join(key)}"
        printed = [cell.replace("−", "-").lstrip("+") for cell in NUMBER.findall(row["difference"])]
        for column, cell, value in zip(("Δ", "low", "high"), printed, (mean.delta, mean.low, mean.high), strict=True):
            outcome.check(("claims.md", at, column), cell, value)
        small = mean.p < SMALLEST_P
        outcome.check(("claims.md", at, "p"), row["p"], f"< {SMALLEST_P}" if small else mean.p)
        outcome.check(("claims.md", at, "sd between scales"), row["between"], mean.between)


def _as_measured(test: PaperTest, study: Study) -> PaperTest:
    """Return the test with its claims on the score as those on the task where the study has a single one."""
    texts = tuple(str(of_single_task(study, text)) for text in test.declared)
    return replace(test, text=str(of_single_task(study, test.text)), declared=texts)


def _key(test: PaperTest) -> tuple[str, str]:
    return test.paper_claim, f"{test.experiment} {test.scale}"


def _short(test: PaperTest) -> str:
    """Return a claim without its metric, as the table has it; an ordering as it is."""
    return short(claim_of(test.text)) if "(" in test.text else test.text


def _metric(test: PaperTest) -> str:
    return claim_of(test.text).metric


def _arms(test: PaperTest) -> tuple[str, str]:
    claim = claim_of(test.text)
    return claim.first, claim.second


def _check(
    outcome: Outcome, test: PaperTest, study: Study, studies: Mapping[str, Study], shown: Sequence[dict[str, str]]
) -> None:
    name = study.document.get("study")
    of_study = [
        each for each in studies.values() if name and each is not study and each.document.get("study") == name
    ]
    at = f"{test.paper_claim} {test.experiment} {test.scale} {test.text}"
    _check_shown(outcome, at, verdict_of(study, test, of_study), shown)


def _check_shown(outcome: Outcome, at: str, judged: PaperVerdict, shown: Sequence[dict[str, str]]) -> None:
    """Compare the rows of one test with its recomputed difference, detectable difference, verdict and seeds."""
    found = judged.tested
    smallest = detectable(found.found.error, found.found.degrees, ALPHA / judged.family)[0]
    values = [found.interval["delta"], found.interval["low"], found.interval["high"]]
    for row in shown or [dict.fromkeys(COLUMNS, "no row")]:
        printed = [cell.replace("−", "-").lstrip("+") for cell in NUMBER.findall(row["difference"])]
        outcome.check(("claims.md", at, "n"), row["n"], found.interval["n"])
        for column, cell, value in zip(("Δ", "low", "high"), printed or ["", "", ""], values, strict=True):
            outcome.check(("claims.md", at, column), cell, value)
        outcome.check(("claims.md", at, "detectable"), row["detectable"], smallest)
        outcome.check(("claims.md", at, "verdict"), row["verdict"].partition(";")[0], judged.verdict)
        if judged.verdict == UNDECIDED:
            outcome.check(
                ("claims.md", at, "seeds"), _printed_seeds(row["verdict"]), _seeds(found, ALPHA / judged.family)
            )
        outcome.check(("claims.md", at, "declared"), str(UNDECLARED not in row["verdict"]), str(judged.declared))


def _printed_seeds(verdict: str) -> str:
    found = re.search(r"(\d+) seeds would", verdict)
    return f"{found[1] if found else 'no seeds'}{AND_EXAMPLES if AND_EXAMPLES in verdict else ''}"


def _seeds(tested_claim: Tested, level: float) -> str:
    """Return the seeds for 80% power to judge a claim at the observed difference and variances, 100 for more.

    What examples add to the variance stays: more seeds answer the same ones, and may never decide.
    """
    found, seeds = tested_claim.found, tested_claim.interval["n"] or 0
    alone = tested_claim.over_seeds if tested_claim.over_seeds.known else found
    of_seeds = alone.error**2
    of_examples = max(0.0, found.error**2 - of_seeds)
    ends = [end - found.value for end in tested_claim.claim.bounds]

    def chance(number: int) -> float:
        then = of_seeds * seeds / number
        low, high = (end / math.sqrt(then + of_examples) for end in ends)
        free = alone.degrees * (number - 1) / (seeds - 1) * (1 + of_examples / then) ** 2
        if low <= 0 <= high and math.isfinite(high - low):
            return power_within(low, high, free, level)
        return power(min(abs(low), abs(high)), free, level)

    needed = seeds_needed(chance, seeds + 1)
    return str(needed or f"{MOST_SEEDS}{AND_EXAMPLES if chance(UNLIMITED) < POWER else ''}")


def _check_latency(outcome: Outcome, test: PaperTest, study: Study, shown: Sequence[dict[str, str]]) -> None:
    rows = [row for row in orderings(study, ()) if row["statement"] == test.text]
    for line in shown or [dict.fromkeys(COLUMNS, "no row")]:
        own = [row for row in rows if row["measure"] == line["metric"]]
        ratios = sorted(row["ratio"] for row in own) or [None]
        at = f"{test.paper_claim} {test.experiment} {test.scale} {test.text} {line['metric']}"
        printed = NUMBER.findall(line["difference"]) or ["", ""]
        outcome.check(("claims.md", at, "verdict"), line["verdict"].partition(";")[0], _counted(own))
        outcome.check(("claims.md", at, "smallest ratio"), printed[0], ratios[0])
        outcome.check(("claims.md", at, "largest ratio"), printed[-1], ratios[-1])
        rounds = [row["n"] for row in own if row["n"] is not None]
        outcome.check(("claims.md", at, "n"), line["n"].replace(NOTHING, ""), min(rounds, default=None))


def _counted(rows: Sequence[Row]) -> str:
    verdicts = [row["verdict"] for row in rows]
    return ", ".join(f"{each} at {verdicts.count(each)} of {len(rows)} lengths" for each in dict.fromkeys(verdicts))
