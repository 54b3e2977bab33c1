"""Numbers of the story about ConvBERT's components: each is computed from rows of its report."""

from collections.abc import Iterator

from reports.number_format import percent
from tests.reports.story_values import difference_in, missing_from, report, table

NAME = "components-laptop"
START = "ConvBERT's components"


def numbers() -> Iterator[str]:
    by_factor = {(row["factor"], row["metric"]): row for row in table(NAME, "shapley")}
    for factor in ("bottleneck", "convolution", "groups", "all changes together"):
        loss, score = (by_factor[factor, metric] for metric in ("held_out_loss", "score"))
        texts = (
            difference_in(loss, 3),
            percent(float(loss["share"])),
            difference_in(score, 2),
            percent(float(score["share"])),
        )
        yield f"| {' | '.join((factor, *texts))} |"
    effects = {(row["effect"], row["metric"]): row for row in table(NAME, "factors")}
    yield difference_in(effects["convolution", "held_out_loss"], 3, " nats")
    yield difference_in(effects["convolution", "score"], 2, " points")
    for effect in ("bottleneck", "groups"):
        row = effects[effect, "held_out_loss"]
        yield difference_in(row, 3, " nats")
        yield f"(p {float(row['p_holm']):.3f}"
    tests = sum(metric in ("held_out_loss", "score") for _, metric in effects)
    yield f"(p {float(effects['bottleneck', 'held_out_loss']['p_holm']):.3f} over {tests} tests)"
    both = effects["convolution x groups", "held_out_loss"]
    yield difference_in(both, 3)
    yield f"(p {float(both['p_holm']):.3f})"
    arms = {arm.name: arm for arm in report(NAME).arms}
    full, baseline = arms["full"], arms["baseline"]
    yield f"{full.train_flops / baseline.train_flops:.2f} times the baseline's training FLOPs"
    yield f"{full.parameters / baseline.parameters:.2f} times its parameters"


def test_numbers_of_the_story_follow_from_its_rows() -> None:
    assert missing_from(START, numbers()) == []


def test_the_front_page_has_the_shares() -> None:
    shares = {
        row["factor"]: percent(float(row["share"]))
        for row in table(NAME, "shapley")
        if row["metric"] == "held_out_loss"
    }
    text = "the convolution contributes {convolution} of the gain in held-out loss, the grouped maps {groups} and the"
    assert missing_from("README", [f"{text} bottleneck {{bottleneck}}".format(**shares)]) == []
