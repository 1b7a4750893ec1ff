"""docs/rules.md is true because its code runs here, and the plot it shows is drawn."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import fredholm as fr
from fredholm.rules import Leja, Smolyak

PAGE = Path(__file__).parent.parent / "docs" / "rules.md"


def test_the_pages_code_runs_and_its_numbers_are_right():
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert float(names["area"]) == pytest.approx(16 * jnp.pi, rel=1e-5)
    assert float(names["integral"]) == pytest.approx(0.5, rel=1e-4)
    for rule in (names["given"], names["fitted"]):
        nodes = rule.nodes(names["interval"], jax.random.key(1))
        assert float(jnp.sum(nodes.weights * jax.vmap(names["peak"])(nodes.points))) == pytest.approx(0.0501, rel=0.5)


def test_every_picture_of_the_page_exists():
    for picture in re.findall(r"\]\((figures/.*?)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / picture).is_file()


@pytest.mark.parametrize("domain", [fr.Interval(0.0, 1.0), fr.Sphere((0.0, 0.0)), fr.Sphere((0.0, 0.0, 0.0))], ids=repr)
def test_a_plot_shows_every_node(domain, tmp_path):
    from fredholm.report.plots.rules import plot_rules

    rules = {"sparse": Smolyak(Leja(1), 4), "random": fr.MonteCarlo(9)}
    figure = plot_rules(rules, domain, tmp_path / "rules.png")
    assert (tmp_path / "rules.png").stat().st_size > 1000
    for axes, rule in zip(figure.axes, rules.values(), strict=True):
        positive, negative = axes.collections[:2]
        shown = sum(len(dots.get_offsets()) for dots in (positive, negative))
        assert shown == rule.size(domain)


def test_no_rule_is_refused():
    from fredholm.report.plots.rules import plot_rules

    with pytest.raises(ValueError, match="no rule"):
        plot_rules({}, fr.Interval(0.0, 1.0))
