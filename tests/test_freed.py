"""What a solve leaves in the process: nothing that is the user's own."""

import gc
import weakref

import pytest

import fredholm as fr

UNIT = fr.Interval(0.0, 1.0)
WAYS = {
    "network": {"rule": fr.MonteCarlo(2), "network": fr.MLP(4, 1, "tanh"), "steps": 4, "batch": 4},
    "series": {"network": fr.Chebyshev(4)},
    "sums": {"rule": fr.MonteCarlo(2), "network": fr.Chebyshev(4), "steps": 40, "batch": 4},
}


@pytest.mark.parametrize("way", WAYS)
def test_the_users_functions_are_freed_with_their_solution(way):
    """JAX keeps the structure of what programs return: an equation in it would stay for ever, with the data that its f holds."""

    def solved():
        def f(u, x):
            return u(x)

        equation = fr.Equation(UNIT, f, fr.Integral(UNIT, lambda u, x, t: 0.5 * u(t)), lambda x: x[0], exact=lambda x: x[0] + 0.5)
        fr.solve(equation, fr.Standard(), seeds=2, progress=False, **WAYS[way]).evaluate()
        return weakref.ref(f)

    kept = solved()
    gc.collect()
    assert kept() is None
