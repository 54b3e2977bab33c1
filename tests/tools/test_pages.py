"""Pages are what their templates give: numbers of published rows; an unknown name or wrong direction is an error."""

from pathlib import Path
from shutil import copytree
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats

from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import PUBLISHED
from tools.page_values import Published
from tools.pages import command_groups, main, pages
from tools.published_folder import Folder
from tools.repetitions import repetitions

FOLDER, LOSS, ARM = "table3_small-laptop_detection", "held_out_loss", "convbert_small"
TEMPLATE = Path("docs", "templates", "docs", "page.md.jinja")


@pytest.fixture(scope="module")
def published() -> Published:
    return Published(PUBLISHED)


def project(root: Path, text: str) -> Path:
    """Return a project with one published folder and one template."""
    copytree(PUBLISHED / FOLDER / "ledger", root / "reports" / "published" / FOLDER / "ledger")
    (root / TEMPLATE).parent.mkdir(parents=True)
    (root / TEMPLATE).write_text(text, encoding="utf-8")
    return root


def test_means_extremes_and_differences_are_those_of_the_rows(published: Published) -> None:
    of_arm, of_other = ([*Folder(PUBLISHED / FOLDER).results.values[arm][LOSS].values()] for arm in (ARM, "baseline"))
    assert published.mean(FOLDER, LOSS, ARM) == f"{fmean(of_arm):.4f} ± {stdev(of_arm):.4f} (n = {len(of_arm)})"
    assert published.extremes(FOLDER, LOSS, ARM) == f"{min(of_arm):.4f} to {max(of_arm):.4f}"
    size = f"{fmean(of_other) - fmean(of_arm):.4f} nats"
    assert published.below(FOLDER, LOSS, ARM, interval=False, n=False) == size
    assert published.difference(FOLDER, LOSS, ARM, interval=False) == f"−{size}, n = {len(of_arm)}"
    assert published.difference(FOLDER, LOSS, "baseline", ARM).startswith(f"+{size} [+0.00")


def test_a_claim_has_its_outcome_and_the_difference_of_its_arms(published: Published) -> None:
    text = f"{LOSS}({ARM}) < {LOSS}(baseline)"
    shown = published.claim(FOLDER, text)
    assert shown == f"{published.outcome(FOLDER, text)}: Δ {published.difference(FOLDER, LOSS, ARM)}"


def test_a_level_is_reached_at_the_first_point_below_it_by_the_seeds_that_have_one(published: Published) -> None:
    assert published.reached(FOLDER, ARM, 1e9).endswith("in 6 of 6 seeds")
    assert published.reached(FOLDER, ARM, 0.0) == "no number of tokens in 0 of 6 seeds"


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


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (f'mean("{FOLDER}", "{LOSS}", "convbert_smal")', "Did you mean convbert_small"),
        (f'mean("{FOLDER}", "held_out_los", "{ARM}")', "Did you mean held_out_loss"),
        (f'mean("{FOLDER[:-1]}", "{LOSS}", "{ARM}")', f"Did you mean {FOLDER}"),
        (f'cell("{FOLDER}", "effects", "p_ajusted", arm="{ARM}", metric="{LOSS}")', "Did you mean p_adjusted"),
        (f'cell("{FOLDER}", "effects", "p", arm="{ARM}")', "one is needed"),
        (f'above("{FOLDER}", "{LOSS}", "{ARM}")', "is not above"),
        (f'outcome("{FOLDER}", "{LOSS}(baseline) < {LOSS}({ARM})")', "is not a claim"),
        (f'mean("{FOLDER}", "{LOSS}", "{ARM}", intervall=False)', "unexpected keyword"),
        (f'means("{FOLDER}")', "'means' is undefined"),
        ("mean(", "unexpected"),
    ],
)
def test_a_mistake_names_template_line_and_rule(tmp_path: Path, expression: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        pages(project(tmp_path, f"one\n\n{{{{ {expression} }}}}\n"))
    (line,) = refused.value.lines
    assert line.startswith(f"{TEMPLATE.as_posix()}:3: ")
    assert said in line


def test_a_page_that_differs_is_named_until_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = project(tmp_path, f'The loss is {{{{ mean("{FOLDER}", "{LOSS}", "{ARM}") }}}}.\n')
    for page in (None, "typed by hand"):
        if page:
            (root / "docs" / "page.md").write_text(page, encoding="utf-8")
        assert main(root, ["--check"]) == 1
        assert capsys.readouterr().err.startswith("docs/page.md: ")
    assert main(root, []) == 0
    assert main(root, ["--check"]) == 0
    assert "The loss is 0.2" in (root / "docs" / "page.md").read_text(encoding="utf-8")


def test_no_help_of_a_command_has_brackets_which_a_terminal_takes_for_markup() -> None:
    """What typer adds, such as the range of a number, stands in brackets behind two spaces."""
    lines = [line for _, of_group in command_groups() for line in of_group]
    texts = [line.summary for line in lines] + [text.split("  [")[0] for line in lines for _, text in line.parameters]
    assert len(texts) > 100
    assert [text for text in texts if "[" in text] == []


def test_repetitions_are_tested_as_the_interaction_of_a_two_way_analysis_of_variance(published: Published) -> None:
    folders = [Folder(PUBLISHED / name).results for name in ("table2-laptop", "table2_variants-laptop")]
    cells = [[results.values[arm][LOSS].values() for arm in ("baseline", "span_dynamic")] for results in folders]
    rows = [(i, j, value) for i, pair in enumerate(cells) for j, seeds in enumerate(pair) for value in seeds]
    folder, arm, losses = np.array(rows).T
    additive = np.stack([np.ones(len(rows)), folder, arm], axis=1)
    whole = np.column_stack([additive, folder * arm])
    without, residual = (float(np.linalg.lstsq(each, losses)[1][0]) for each in (additive, whole))
    degrees = len(rows) - 4
    found = repetitions(folders, LOSS, "span_dynamic")
    assert found.p == pytest.approx(stats.f.sf((without - residual) / (residual / degrees), 1, degrees))
    assert found.difference.n == len(folders)
    with pytest.raises(ConfigurationError, match="not as many seeds each"):
        published.repeated("table2-laptop", "table2-wikipedia", arm="span_dynamic")
