"""Auto chooses by what its pilot measures, says why, leaves alone what is given, and is not asked twice."""

import math
import sys
from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.equation.reference import reference_rule
from fredholm.storage.run_folder import RunFolder
from fredholm.storage.serialisation import from_text
from fredholm.training import choice as choice_module
from fredholm.training.choice import Pilot, _method_and_rule, _quiet_rule, candidates, choose, unbiased_candidates
from fredholm.training.settings import LEFT_TO_AUTO, settings_of

UNIT, AUTO, NETWORK = fr.Interval(0.0, 1.0), fr.Auto(points=200, pilot=5), fr.MLP(8, 1, "tanh")
SMOOTH = fr.Equation(domain=UNIT, f=lambda u, x: u(x), integrals=fr.Integral(UNIT, lambda u, x, t: 0.5 * u(t)), y=lambda x: x[0] + 1.0)
# Six dimensions and an integrand that no few nodes resolve.
ROUGH = fr.Equation(
    domain=UNIT,
    f=lambda u, x: u(x),
    integrals=fr.Integral(fr.Box((0.0,) * 6, (1.0,) * 6), lambda u, x, t: 3 * jnp.sin(40 * jnp.sum(t)) * (1 + u(t[:1]))),
    y=1.0,
)


def circle(x):
    return fr.Circle(jnp.stack([x.center, 0 * x.center, 0 * x.center]), x.radius, (0.0, 0.0, 1.0))


FLUX = fr.Equation(
    domain=fr.Law(center=UNIT, radius=fr.Interval(0.1, 0.5)),
    integrals=fr.Integral(circle, lambda u, x, t: 20 * (1 + u(t)) * jnp.sin(200 * t[0])),
    y=1.0,
    inputs=3,
)
KEYWORDS = {"network": NETWORK, "seeds": 1, "progress": False}


def chosen(auto, equation, steps=None, **given):
    """The settings that a pilot chooses, with its reasons and what it cost."""
    settings = settings_of(equation, auto, network=NETWORK, steps=steps, **given)
    choice = choose(auto, settings, [name for name in LEFT_TO_AUTO if name not in given])
    return SimpleNamespace(**vars(choice.settings), reasons=choice.reasons, evaluations=choice.evaluations)


@pytest.fixture(autouse=True)
def no_growth(request, monkeypatch):
    """The batch is what the evaluations allow, unless the test is about noise."""
    if "noisy" not in request.node.name:
        monkeypatch.setattr(choice_module, "NOISY", math.inf)


def test_a_noisy_gradient_gets_more_points_and_a_clear_one_does_not():
    waves = eqx.tree_at(lambda equation: equation.y, SMOOTH, lambda x: 10 * jnp.sin(60 * x[0]))
    noisy, clear = (chosen(AUTO, equation, rule=fr.Gauss(8)) for equation in (waves, SMOOTH))
    assert 200 // 9 < noisy.batch <= choice_module.GROWTH * (200 // 9)
    assert any(f"with {200 // 9} x, the gradient's noise would be" in reason for reason in noisy.reasons)
    assert clear.batch == 200 // 9
    assert not any("gradient's noise would be" in reason for reason in clear.reasons)


def test_a_smooth_integral_gets_nodes_without_noise_and_the_run_keeps_the_choice(tmp_path, monkeypatch, capsys):
    solution = fr.solve(SMOOTH, AUTO, steps=4, out=tmp_path / "run", **{**KEYWORDS, "progress": True})
    said = "".join(capsys.readouterr().err.split())  # lines are folded to the width of the screen
    settings = RunFolder.open(tmp_path / "run").read_settings()
    assert from_text(settings["method"]) == fr.Standard()
    assert from_text(settings["rule"]) == fr.Gauss(8), "its error is so small that no larger one is needed"
    assert settings["batch"] == 200 // 9
    assert from_text(settings["optimizer"]) == fr.Muon(1e-2, fr.Cosine())
    assert settings["average"] == 0.999
    reasons = settings["auto"]["reasons"]
    for word in ("Gauss(n=8", "Standard()", "batch 22", "Muon(0.01", "average 0.999", "the pilot cost"):
        assert any(word in reason for reason in reasons), word
        assert word in str(solution)
        assert word.replace(" ", "") in said[: said.index("step1/4")], "before the training"
    assert settings["auto"]["evaluations"] > 5 * 32

    monkeypatch.setattr(sys.modules["fredholm.api"], "choose", None)  # a second pilot would fail
    resumed = fr.resume(tmp_path / "run", steps=6, problem=SMOOTH, progress=False)
    assert resumed.steps == 6
    assert resumed.settings["auto"] == settings["auto"]


def test_random_nodes_that_are_only_just_good_enough_get_one_size_more():
    """The pilot's network is smoother than the solution. What is wanted of fixed nodes is strict enough by itself."""
    ring = fr.Circle((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0))
    turned = fr.Equation(domain=UNIT, integrals=fr.Integral(ring, lambda u, x, t: u(t)), y=1.0, inputs=3)
    auto = fr.Auto(points=800, pilot=2)
    pilot = Pilot(auto, settings_of(turned, auto, network=NETWORK))
    for share, wanted in ((0.5, 32), (0.5e-3, 16)):
        pilot.error = lambda rule, share=share: share * auto.bias
        assert _quiet_rule(auto, pilot, None, 100, reasons := []) == fr.Even(wanted, fr.Rotation())
        assert ("a larger one, since the pilot" in reasons[0]) == (wanted == 32)
    assert _quiet_rule(auto, pilot, None, 10_000, reasons := []) == fr.Even(32, fr.Rotation()), "a long run makes a rougher network"
    assert "for a run of 10000 steps" in reasons[0]
    pilot.error = lambda rule: (0.5 if rule.n == 64 else 2.0) * auto.bias
    assert _quiet_rule(auto, pilot, None, 100, reasons := []) is None, "there is no larger one"
    assert "not Standard()" in reasons[0]
    assert _quiet_rule(fr.Auto(points=800, pilot=2, using=fr.Standard()), pilot, None, 100, []) == fr.Even(64, fr.Rotation())
    fixed = Pilot(auto, settings_of(SMOOTH, auto, network=NETWORK))
    fixed.error = lambda rule: 0.5 * auto.bias**2
    assert _quiet_rule(auto, fixed, None, 10_000, []) == fr.Gauss(8)
    fixed.error = lambda rule: 0.5 * auto.bias
    assert _quiet_rule(auto, fixed, None, 100, []) is None, "an error that is always the same shifts the solution by its root"
    assert _quiet_rule(auto, fixed, fr.MonteCarlo(8), 100, []) == fr.MonteCarlo(8), "noise by its variance"


def test_many_nodes_for_few_points_give_way_to_few_nodes_for_many():
    """A basket of five prices that jump got Standard() with 64 nodes for 384 x, where points x made most of the noise."""
    pilot = Pilot(AUTO, settings_of(ROUGH, AUTO, network=NETWORK))
    pilot.error = lambda rule: (1e-6 if rule.size(pilot.measures[0]) >= 16 else 2.0) * AUTO.bias
    pilot.noise = lambda method, rule: 1.0
    for noise_of_few, wanted in ((1.0, fr.DelayedTarget()), (1e3, fr.Standard())):
        pilot.noise_of_one_x = lambda method, rule, few=noise_of_few: 1.0 if method == fr.Standard() else few
        method, rule = _method_and_rule(AUTO, pilot, None, 100, reasons := [])
        assert method == wanted, reasons
        assert (rule == fr.MonteCarlo(1)) == (wanted == fr.DelayedTarget()), reasons


def test_the_rule_suits_the_integrals_of_conditions_too():
    """A ring can be rotated and a box cannot; the same rule is for both."""
    ring = fr.Circle((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0))
    weak = {"domain": UNIT, "integrals": fr.Integral(ring, lambda u, x, t: x[0] * u(t)), "y": 1.0, "inputs": 3}
    cube = fr.Integral(fr.Box((0.0,) * 3, (1.0,) * 3), lambda u, x, t: u(t))
    choice = chosen(AUTO, fr.Equation(**weak, conditions=fr.IntegralCondition(cube, 1.0)))
    choice.rule.check(cube.over)
    alone = chosen(AUTO, fr.Equation(**weak), steps=100)
    assert alone.rule == fr.Even(16, fr.Rotation())


@pytest.mark.pilot
def test_what_an_equation_brings_along_is_respected_where_its_method_is_open():
    defaults = fr.Defaults(optimizer=fr.Adam(1e-4), batch=6, average=0.0)
    own = fr.Equation(domain=UNIT, f=lambda u, x: u(x), integrals=SMOOTH.integrals[0], y=1.0, defaults=defaults)
    settings = fr.solve(own, steps=2, **KEYWORDS).settings
    assert (from_text(settings["optimizer"]), settings["batch"], settings["average"]) == (fr.Adam(1e-4), 6, 0.0)
    assert settings["auto"] is not None


def test_a_weak_form_of_quiet_given_samples_is_doubled():
    samples = fr.Integral(lambda x: fr.Given(x.near), lambda u, x, t: 1.0 + 1e-3 * u(t))
    near = np.random.default_rng(0).uniform(size=(50, 4, 1))
    offline = fr.Equation(domain=fr.Offline(point=near[:, 0], near=near), integrals=samples, y=1.0, inputs=1)
    choice = chosen(AUTO, offline)
    assert choice.method == fr.DoubleSampling("all"), choice.reasons
    assert choice.rule.n >= 2


def test_a_standard_loss_that_is_wanted_gets_the_best_rule_and_a_reason():
    choice = chosen(fr.Auto(points=200, pilot=5, using=fr.Standard()), ROUGH)
    assert isinstance(choice.rule, fr.QuasiMonteCarlo)
    assert any("the best rule that fits" in reason for reason in choice.reasons)


@pytest.mark.pilot
def test_it_is_the_default_of_an_equation_of_ones_own_and_leaves_alone_what_is_given():
    given = {"rule": fr.MonteCarlo(2), "batch": 7, "optimizer": fr.Adam(1e-4), "average": 0.0}
    solution = fr.solve(ROUGH, steps=2, **given, **KEYWORDS)
    found = {name: solution.settings[name] for name in ("batch", "average")}
    found |= {name: from_text(solution.settings[name]) for name in ("rule", "optimizer", "method")}
    assert found == {**given, "method": fr.DelayedTarget()}
    reasons = solution.settings["auto"]["reasons"]
    assert any("not Standard()" in reason for reason in reasons)
    assert not any(word in reason for reason in reasons for word in ("Muon", "average", "batch"))
    assert fr.solve(fr.problems.Volterra(), steps=2, batch=4, **KEYWORDS).settings["auto"] is None, "a problem with its own method"


def test_nodes_that_all_x_share_leave_the_evaluations_of_a_step_to_more_x():
    moving = fr.Integral(lambda x: fr.Interval(0.0, 1.0 + x[0]), lambda u, x, t: 0.2 * u(t / 2))
    moves = fr.Equation(domain=UNIT, f=lambda u, x: u(x), integrals=moving, y=1.0)
    batches = {}
    for name, equation in {"same": SMOOTH, "moves": moves}.items():
        choice = chosen(AUTO, equation, rule=fr.Shared(fr.MonteCarlo(24)))
        batches[name] = choice.batch
        told = [reason for reason in choice.reasons if reason.startswith("batch")]
        assert ("a step has 200 of them, 24 of them shared by all x" in told[0]) == (name == "same")
    assert batches == {"same": 200 - 24, "moves": 200 // 25}


def test_a_weak_form_goes_by_its_noise():
    choice = chosen(AUTO, FLUX)
    assert choice.method == fr.DelayedTarget(), choice.reasons
    assert choice.rule.is_random
    assert choice.batch == 200 // (2 * choice.rule.n), "target and network have nodes of their own, and there is no f"
    assert any("a delayed target averages this noise" in reason for reason in choice.reasons)
    using = chosen(fr.Auto(points=200, pilot=5, using=fr.DelayedTarget(tau=0.9)), FLUX, rule=fr.MonteCarlo(1))
    assert (using.method, using.rule) == (fr.DelayedTarget(tau=0.9), fr.MonteCarlo(1))


def test_the_fewest_nodes_of_nearly_the_least_noise_and_no_more_than_leave_points_enough():
    sphere = fr.Sphere((0.0,) * 4, 1.0)
    weak = fr.Equation(domain=UNIT, integrals=fr.Integral(sphere, lambda u, x, t: u(t)), y=1.0, inputs=4)
    pilot = Pilot(fr.Auto(points=800, pilot=2), settings_of(weak, network=NETWORK))
    pilot.error = lambda rule: 0.5  # too much for the standard loss, and less than would need a target
    for noises, points, wanted in (({32: 1.4, 64: 1.0}, 1600, 32), ({32: 2.0, 64: 1.0}, 1600, 64), ({32: 2.0, 64: 1.0}, 800, 32)):
        pilot.noise = lambda method, rule, noises=noises: noises.get(rule.n, 9.0)
        method, rule = _method_and_rule(fr.Auto(points=points), pilot, None, 100, reasons := [])
        assert (method, rule) == (fr.DoubleSampling("all"), fr.QuasiMonteCarlo(wanted, fr.Sobol(), fr.Scramble())), reasons
    pilot.noise = lambda method, rule: float("nan")
    assert _method_and_rule(fr.Auto(points=800), pilot, None, 100, [])[1] == fr.MonteCarlo(2), "a pilot that ran away ends nothing"


def test_the_noise_that_counts_is_what_the_nodes_make():
    """The rest of a gradient's variance, from x to x, falls with the residual, and would make few nodes look better than they are."""
    pilot = Pilot(AUTO, settings_of(ROUGH, AUTO, network=NETWORK))
    method = fr.DelayedTarget()  # its gradient is linear in the estimate, so that its variance falls as 1/N
    one, many = (pilot.noise(method, rule) / pilot.cost(method, rule).of_step(1) for rule in (fr.MonteCarlo(1), fr.MonteCarlo(16)))
    assert 8 < one / many < 32
    smooth = Pilot(AUTO, settings_of(SMOOTH, AUTO, network=NETWORK))
    assert smooth.noise(fr.Standard(), fr.Gauss(8)) == 0, "nodes that are always the same make none"


def test_without_an_integral_there_is_no_pilot():
    plain = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x), conditions=fr.Condition(fr.Point(0.0), 1.0))
    choice = chosen(AUTO, plain)
    assert (choice.method, choice.evaluations) == (fr.Standard(), 0)


def test_the_rules_that_suit_a_domain():
    ring, sphere = fr.Circle((0.0, 0.0, 0.0), 1.0, (0.0, 0.0, 1.0)), fr.Sphere((0.0,) * 5, 1.0)
    assert candidates([ring])[0] == fr.Even(16, fr.Rotation())
    assert candidates([UNIT, UNIT])[0] == fr.Gauss(8)
    assert all(rule.is_random for measure in (UNIT, fr.Product(UNIT, UNIT)) for rule in candidates([measure], is_rough=True))
    assert candidates([fr.HalfLine(0.0)], is_rough=True) == candidates([fr.HalfLine(0.0)])
    assert candidates([sphere])[0] == fr.MonteCarlo(1), "which is enough for a derivative along a random direction"
    assert candidates([sphere])[-1] == fr.QuasiMonteCarlo(64, fr.Sobol(), fr.Scramble())
    assert unbiased_candidates([sphere])[-1] == fr.QuasiMonteCarlo(64, fr.Sobol(), fr.Scramble())
    assert candidates([fr.Discrete(np.arange(3.0)[:, None], np.ones(3))]) == [fr.Even(1)]
    assert candidates([fr.Given(jnp.zeros((4, 1)))]) == [], "given samples are random themselves"
    assert all(rule.is_random for measure in (ring, sphere, UNIT, fr.Normal((0.0,), 1.0)) for rule in unbiased_candidates([measure]))
    assert math.isfinite(fr.Auto().bias)


@pytest.mark.parametrize(
    "measure",
    [UNIT, fr.HalfLine(0.0), fr.Normal(0.0, 1.0), fr.Product(fr.HalfLine(0.0), fr.HalfLine(0.0)), fr.Ball((0.0, 0.0), 1.0)],
    ids=repr,
)
def test_its_measure_of_error_fits_the_range_of_single_precision(measure):
    rule = reference_rule(measure)
    rule.check(measure)
    assert all(rule.size(measure) > other.size(measure) for other in candidates([measure]))


def test_integrals_of_conditions_alone_get_two_quiet_and_unbiased_estimates():
    unit_mass = fr.IntegralCondition(fr.Integral(UNIT, lambda u, x, t: u(t)), 1.0)
    density = fr.Equation(domain=UNIT, f=lambda u, x: fr.derivative(u, x) + u(x), conditions=unit_mass)
    choice = chosen(AUTO, density)
    assert (choice.method, choice.rule) == (fr.DoubleSampling("all"), fr.Even(8, fr.Shift()))
    assert choice.evaluations == 0, "no pilot"
    assert chosen(AUTO, density, rule=fr.MonteCarlo(2)).rule == fr.MonteCarlo(2)
    fixed = chosen(AUTO, density, rule=fr.Gauss(4))
    assert (fixed.method, fixed.rule) == (fr.Standard(), fr.Gauss(4)), "nothing random to multiply"
    assert not any("batch" in reason for reason in chosen(AUTO, density, batch=5).reasons), "it was given"


@pytest.mark.parametrize("wrong", [{"points": 3}, {"bias": -1.0}, {"pilot": 0}])
def test_wrong_input(wrong):
    with pytest.raises(ValueError, match=f"Auto {next(iter(wrong))}"):
        fr.Auto(**wrong)


def test_a_long_run_whose_equation_leaves_components_free_gets_a_small_rate():
    """One equation for two components, as for the three of a vector potential: the sum of both is free, and wanders with the rate."""
    parts = {"domain": UNIT, "integrals": fr.Integral(UNIT, lambda u, x, t: u(t)[0] - u(t)[1]), "y": 1.0, "outputs": 2}
    pinned = fr.Condition(at=fr.Point(0.0), value=jnp.zeros(2))
    found = {steps: chosen(AUTO, fr.Equation(**parts), steps=steps) for steps in (100, 5000)}
    assert [found[steps].optimizer for steps in (100, 5000)] == [fr.Muon(), fr.Muon(3e-3)]
    assert any("would drift in 5000 steps" in reason for reason in found[5000].reasons)
    assert chosen(AUTO, fr.Equation(**parts, conditions=pinned), steps=5000).optimizer == fr.Muon()
    assert chosen(AUTO, FLUX, steps=5000).optimizer == fr.Muon(), "as many equations as components"
