"""Seeds × points on any number of devices: the mesh changes nothing but the order of sums."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fredholm as fr
from fredholm.__main__ import main
from fredholm.training import devices, tiling
from fredholm.training.devices import Layout, a_free_device
from fredholm.training.settings import settings_of
from fredholm.training.training import Training

PATIENCE = 900.0  # seconds, for a machine that is busy with other things
TINY = {"network": fr.MLP(8, 1, "tanh"), "batch": 9, "steps": 12, "record_every": 5}
VOLTERRA, WEAK = fr.problems.Volterra(), fr.problems.Poisson(2)
SECOND = {"optimizer": fr.GaussNewton(), "precision": "float64", "average": 0.0}
CASES = {
    "one seed": (VOLTERRA, fr.DelayedTarget(), fr.MonteCarlo(2), 1, {}),
    "three seeds, weak, shared nodes": (WEAK, fr.Standard(), fr.Shared(fr.MonteCarlo(4)), 3, {}),
    "judged steps": (VOLTERRA, fr.Standard(), fr.Gauss(4), 1, SECOND),
    "preconditioned steps": (VOLTERRA, fr.DoubleSampling(), fr.MonteCarlo(2), 1, SECOND),
}


@pytest.fixture
def cheap(monkeypatch):
    """Exchange costs nothing: points are shared out however small a step is."""
    monkeypatch.setattr(devices, "EXCHANGE", 0.0)


def settings(case):
    problem, method, rule, seeds, more = CASES[case]
    return settings_of(problem, method, rule=rule, seeds=seeds, **{**TINY, **more})


def trained(own):
    with jax.enable_x64(own.precision == "float64"):
        training = Training(own)
        while training.step < own.steps:
            training.advance(own.steps)
        return training


def alone(own):
    with jax.default_device(jax.devices()[1]):
        training = trained(own)
    assert training.layout.mesh.size == 1
    return training


@pytest.mark.parametrize("case", CASES)
def test_states_and_records_are_those_of_one_device(case, cheap):
    """9 points do not divide by 2: one comes twice, and counts once."""
    own = settings(case)
    one, two = alone(own), trained(own)
    assert two.layout.points == 2
    expected, found = one.snapshot(), two.snapshot()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape
        np.testing.assert_allclose(found[name], value, rtol=2e-3, atol=1e-4, err_msg=name)
    for before, after in zip(one.records, two.records, strict=True):
        for name, value in before.items():
            np.testing.assert_allclose(after[name], value, rtol=2e-3, atol=1e-4, err_msg=name)


def test_seeds_that_do_not_divide_are_trained_with_copies_that_nobody_sees():
    """Exchange is dear: three small seeds have two on one device, and one with a copy on the other."""
    own = settings("three seeds, weak, shared nodes")
    one, two = alone(own), trained(own)
    assert (two.layout.points, two.layout.padded) == (1, 4)
    for name, value in two.snapshot().items():
        assert value.shape == one.snapshot()[name].shape
        np.testing.assert_allclose(value, one.snapshot()[name], rtol=2e-3, atol=1e-4, err_msg=name)
    assert all(len(values) == 3 for record in two.records for values in record.values())


def test_all_devices_work_whatever_the_numbers(monkeypatch):
    for count in range(1, 9):
        monkeypatch.setattr(devices, "available", lambda count=count: [*jax.devices(), *range(2, count)][:count])
        monkeypatch.setattr(devices, "Mesh", lambda found, axes: type("", (), {"shape": dict(zip(axes, found.shape, strict=True))}))
        for seeds in range(1, 20):
            layout = Layout.of.__func__(lambda mesh, seeds: (mesh.shape["seeds"], mesh.shape["points"]), seeds, 400, 1e9)
            rows, points = layout
            assert rows <= seeds
            # The work of the busiest device is within a third of what a perfect division would give.
            assert -(-seeds // rows) / points <= 4 / 3 * seeds / count, (count, seeds, layout)
            if seeds % count == 0:
                assert layout == (count, 1)


def test_a_step_has_one_exchange_whose_size_is_that_of_the_gradient(cheap):
    """One sum of one vector over the devices: the gradient and the parts of the loss."""
    for case in ("one seed", "three seeds, weak, shared nodes"):
        training = Training(settings(case))
        chunk = str(jax.make_jaxpr(training._chunk)(training.arrays, training._sums, training.equation_arrays, training.keys, 0, 1))
        sums = [line for line in chunk.splitlines() if "psum" in line]
        leaves = jax.tree.leaves(training.states.u)
        size = sum(leaf[0].size for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)) + len(training._sums) - 1
        assert len(sums) == 1
        assert f"{size}]" in sums[0]
        assert "all_gather" not in chunk


def test_a_thread_has_a_device_of_its_own_and_its_runs_stay_there():
    first, others = jax.devices()[0], []
    with a_free_device() as one:
        thread = threading.Thread(target=lambda: others.append(meshes_inside()))
        thread.start()
        thread.join()
    assert one == first
    assert others == [[jax.devices()[1]]]


def meshes_inside():
    with a_free_device():
        return list(Layout.of(4).mesh.devices.flat)


def test_a_program_that_leaves_cores_idle_is_told_once(monkeypatch, caplog):
    devices.tell_of_idle_cores.cache_clear()
    for is_idle in (False, True, True):
        monkeypatch.setattr(tiling, "has_idle_cores", lambda is_idle=is_idle: is_idle)
        Training(settings_of(VOLTERRA, seeds=2, **TINY))
    assert caplog.text.count("fredholm.use_all_cores()") == 1
    assert not devices.has_idle_cores(), "two devices"


LAUNCHED = {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2", "JAX_NUM_CPU_DEVICES": "1"}
RUN = (
    "solve volterra --method standard --n 2 --width 8 --depth 1 --batch 16 --seeds 1 --steps 10000000 --checkpoint-every 20 "
    "--distributed --out run"
)


def has_begun(run):
    """True where a process that died would leave more than the start."""
    try:
        return json.loads((run / "run.json").read_text())["done"] > 0
    except (OSError, ValueError):
        return False


def test_where_one_of_two_processes_dies_the_other_saves_and_ends_and_the_run_goes_on(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1] - 1
    environment = {**os.environ, **LAUNCHED, "MASTER_PORT": str(port), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("XLA_FLAGS")
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "fredholm", *RUN.split()],
            env={**environment, "RANK": str(rank)},
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        while not has_begun(tmp_path / "run"):
            assert processes[0].poll() is None, processes[0].stderr.read()
            time.sleep(0.05)
        processes[1].kill()
        said = processes[0].communicate(timeout=PATIENCE)[1]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stderr.close()
    assert processes[0].returncode == 1, said
    assert "another process of this run has ended" in said
    done = int(re.search(r"Kept: the state of step (\d+)", said)[1])
    assert done > 0
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "run", "--steps", str(done + 5)]) == 0
    assert fr.load("run").steps == done + 5
