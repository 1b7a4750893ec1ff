"""`fredholm doctor`: what is installed, what there is to compute on, and a ten-second self-test."""

import os
import platform
import shutil
import time
from argparse import Namespace
from importlib import metadata
from pathlib import Path

import jax
import numpy as np
import xarray as xr

from fredholm.api import solve as solve_equation
from fredholm.common import caches
from fredholm.problems.volterra import Volterra
from fredholm.training.stopping import AbstractStop

PACKAGES = ("fredholm", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "xarray", "matplotlib", "plotly")
ROOM = 1 << 30  # less free disk than this is a warning: a run of many seeds and its checkpoints may not fit
STEPS = 1000  # of the self-test
WANTED_ERROR = 0.2  # the relative error below which the self-test has learned something; it starts near 1


class Clock(AbstractStop):
    """Never stops, and notes the time of each record, for a rate without compilation."""

    times: list[float]

    def __call__(self, history: xr.Dataset) -> bool:
        self.times.append(time.perf_counter())
        return False


def doctor(options: Namespace) -> int:
    """`fredholm doctor`: 0 when every check passed, 1 when one failed."""
    _line("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    for start in range(0, len(PACKAGES), 5):
        _line("packages" if not start else "", ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES[start : start + 5]))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    _line("devices", f"{', '.join(f'{device.platform}:{device.id}' for device in jax.devices())}; {cores} cores")
    cache = getattr(jax.config, "jax_compilation_cache_dir", None)
    size = sum(entry.stat().st_size for entry in Path(cache).glob("*") if entry.is_file()) if cache else 0
    _line("cache", f"{cache}, {size / 2**20:.1f} MiB; it may be deleted at any time" if cache else "none: programs are compiled again")
    _line("", _cache_place())
    browser = next((found for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    _line("browser", browser or "no chromium; only the test of a page in a browser needs it")
    passed = [_disk(), _self_test()]
    _line("result", "all checks passed" if all(passed) else "a check failed, see above")
    return 0 if all(passed) else 1


def _cache_place() -> str:
    """Where caches go, and why to another folder than was wanted."""
    try:
        place = caches.cache()
    except OSError as error:
        return str(error)
    return f"caches go to {place.folder}, {f'since {place.refused}' if place.refused else 'where only you can write'}"


def _disk() -> bool:
    free = shutil.disk_usage(Path.cwd()).free
    writable = os.access(Path.cwd(), os.W_OK)
    little = "" if free > ROOM else ", less than 1 GiB"
    closed = "" if writable else "; this folder is not writable"
    _line("disk", f"{free / 2**30:.1f} GiB free here{little}{closed}")
    return free > ROOM and writable


def _self_test() -> bool:
    print(f"{'self-test':<10} Volterra, delayed targets, one sample for each point ...", end="", flush=True)
    clock, begin = Clock([]), time.perf_counter()
    limits = {"steps": STEPS, "record_every": STEPS // 10, "minutes": 2.0, "stop": clock, "progress": False, "throw": False}
    try:
        solution = solve_equation(Volterra(), batch=100, seeds=2, **limits)
        error = float(np.mean(solution.evaluate()["relative_l2"]))
    except Exception as failure:  # any failure is what the user of this command asks for
        print(f" failed\n{'':<10} {type(failure).__name__}: {failure}")
        return False
    print(f" {time.perf_counter() - begin:.1f} s")
    steps = STEPS // 10 * (len(clock.times) - 1)
    rate = steps / (clock.times[-1] - clock.times[0]) if steps else solution.steps / solution.seconds
    passed = bool(solution.good.all()) and error < WANTED_ERROR
    verdict = "passed" if passed else f"expected an error below {WANTED_ERROR}"
    _line("", f"{solution.steps} steps, {rate:.0f} steps a second, relative error {error:.3f}: {verdict}")
    return passed


def _line(name: str, text: str) -> None:
    print(f"{name:<10} {text}", flush=True)
