"""The probe of a cluster's nodes: a line per node that does not see the results or would compute other numbers."""

from pathlib import Path

from runners.executors.node_probe import OPERATORS, NodeReport, environment, mistakes, report_of

DRIVER = {"torch": "2.13.0", OPERATORS: "native 1"}
VISIBLE = Path("/results/stages/steeplechase-ray-1/visible")


def test_nodes_like_the_driver_are_accepted() -> None:
    assert [*mistakes([NodeReport("a", True, DRIVER), NodeReport("b", True, DRIVER)], VISIBLE, DRIVER)] == []


def test_every_mistake_of_every_node_is_told_at_once_with_the_folder_and_the_values() -> None:
    reports = [
        NodeReport("two (10.0.0.2)", True, {**DRIVER, "torch": "2.12.0"}),
        NodeReport("one (10.0.0.1)", False, {**DRIVER, OPERATORS: "portable"}),
    ]
    first, second, third = mistakes(reports, VISIBLE, DRIVER)
    assert first.startswith("Ray node one (10.0.0.1) does not see /results/stages, ")
    assert "operators portable for native 1" in second
    assert third.startswith(
        "Ray node two (10.0.0.2) would compute other numbers than the driver: torch 2.12.0 for 2.13.0;"
    )


def test_a_node_reports_what_it_reads_and_what_keys_hold(tmp_path: Path) -> None:
    visible = tmp_path / "visible"
    assert not report_of("10.0.0.1", visible, "token").sees_results
    visible.write_text("of another run")
    assert not report_of("10.0.0.1", visible, "token").sees_results
    visible.write_text("token")
    report = report_of("10.0.0.1", visible, "token")
    assert report.sees_results
    assert report.environment == environment()
    assert report.node.endswith(" (10.0.0.1)")
    assert {"torch", "tokenizers", "numpy", "scikit-learn", OPERATORS} <= environment().keys()
