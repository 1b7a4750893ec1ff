"""Keywords that a call does not have: the nearest that it has, or what another library calls it."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Never

from fredholm.common.checks import nearest

if TYPE_CHECKING:
    Unknown = Never  # of `**unknown`: a type checker refuses such a keyword before the program runs
else:
    Unknown = object
RATE = "optimizer=fr.Adam(1e-3)"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "epochs": "steps",
        "iterations": "steps",
        "max_steps": "steps",
        "batch_size": "batch",
        "seed": "seeds",
        "lr": RATE,
        "learning_rate": RATE,
        "n": "rule=fr.MonteCarlo(n)",
        "nodes": "rule=fr.MonteCarlo(n)",
        "samples": "rule=fr.MonteCarlo(n)",
        "width": "network=fr.MLP(width, depth)",
        "depth": "network=fr.MLP(width, depth)",
        "layers": "network=fr.MLP(width, depth)",
        "tau": "method=fr.DelayedTarget(tau=...)",
        "dtype": "precision",
        "path": "out",
        "folder": "out",
        "callback": "progress",
        "verbose": "progress",
        "time": "minutes",
    }
)  # what is said elsewhere, and what is said here


def refuse_unknown(name: str, call: Callable[..., Any], unknown: Mapping[str, object]) -> None:
    """Raises `ValueError` for the first keyword that a call does not have."""
    for given in unknown:
        if given in ELSEWHERE:
            raise ValueError(f"{name}: unknown keyword {given!r}. Here it is {ELSEWHERE[given]}.")
        kinds = inspect.signature(call).parameters.items()
        raise nearest(f"keyword of {name}", given, [one for one, parameter in kinds if parameter.kind is not parameter.VAR_KEYWORD])
