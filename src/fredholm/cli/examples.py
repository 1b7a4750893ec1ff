"""The text below the options in each command's help: how it works, and examples that a test parses."""

TOP = """\
examples:
  fredholm list                                          every problem, method and rule
  fredholm solve volterra                                one sample per integral, without bias
  fredholm solve poisson --method standard --n 100       another method, with 100 samples
  fredholm check my_problem.py:problem                   test your own equation before training
  fredholm solve my_problem.py:problem --seeds 8         your own equation, from your own file
  fredholm compare volterra --methods standard delayed-target --n 1
  fredholm resume runs/volterra-2026-11-15-1a2b3c        continue after Ctrl-C or a crash
  fredholm diagnose runs/volterra-2026-11-15-1a2b3c      why it failed, and what to do
  fredholm theory                                        the paper's theorem on a worked example
  fredholm reproduce figure-1 --scale laptop             a figure of the paper, and whether its claims hold here
  fredholm study study.yaml --workers 2                  a sweep with matched seeds

fredholm COMMAND --help explains a command."""
SOLVE = """\
The problem sets the default of every option that is not given. For your own equation a short pilot run chooses them, and says why (--method
auto).

examples:
  fredholm solve volterra
  fredholm solve poisson --set dim=5 --seeds 2 --steps 2000
  fredholm solve volterra --method standard --rule gauss --n 16          the deterministic approach
  fredholm solve volterra --method delayed-target --tau 0.999 --every 100
  fredholm solve volterra --rule 'QuasiMonteCarlo(64, sequence=Sobol(), randomize=Scramble())'
  fredholm solve volterra --network 'MLP(32, 2, "tanh")' --optimizer 'Adam(1e-3, Cosine())'
  fredholm solve my_problem.py:problem --minutes 5 --stop-at 1e-3 --out runs/mine

In my_problem.py, `problem` is a fredholm.Equation, or a function that returns one; --set gives the function its arguments."""
COMPARE = """\
All methods get the same seeds: the same initial networks and, at equal --n and --batch, the same points. An option such as --tau applies to
the methods that have it.

examples:
  fredholm compare volterra --methods standard delayed-target --rule monte-carlo --n 1
  fredholm compare poisson --methods standard double-sampling delayed-target --n 2 --steps 5000
  fredholm compare volterra --methods 'DelayedTarget(tau=0.9)' 'DelayedTarget(tau=0.999)'
  fredholm compare --zoo                                  the table of docs/zoo.md; takes hours, can be interrupted
  fredholm compare --zoo --cases volterra fredholm-nonlinear --scale 0.1 --out runs/zoo-quick"""
RESUME = """\
A resumed run equals an uninterrupted one, bit for bit on the same devices. If the equation came from your own file.py:name,
give it again with --problem: no file is imported because a run folder names it.

examples:
  fredholm resume runs/mine                    up to the planned number of steps
  fredholm resume runs/mine --steps 40000      up to 40000 steps in total
  fredholm resume runs/mine --steps +5000      5000 steps more than planned
  fredholm resume runs/own --problem own.py:problem"""
REPORT = """\
Nothing inside the folder is imported or executed.

examples:
  fredholm report runs/mine
  fredholm report runs/comparison              a folder with several runs gives one page with all of them"""
PREDICT = """\
The file has the mean prediction over the seeds, the same for the networks without parameter averaging and for the target networks (the
delayed copies), the exact solution where it is known, and the prediction of every seed.

examples:
  fredholm predict runs/volterra --out u.csv
  fredholm predict runs/volterra --grid x0=0:5:101 --out u.nc
  fredholm predict runs/poisson --grid x0=-1:1:51 x1=0,0.5 --out u.nc"""
THEORY = """\
A Fredholm equation of the second kind on a ring of S points, u(x) = γ ∫ k(x' − x) u(x') dx' + y(x), with d bumps as features; and Poisson's
weak form, where delayed targets can diverge. docs/theory.md explains the numbers.

examples:
  fredholm theory
  fredholm theory --discount 0.95 --features 5 --out runs/theory
  fredholm theory --steps 2000 --runs 16                a quick trial
  fredholm theory mine.yaml                             your own linear problem: features, inner, probabilities, conditional, labels"""
STUDY = """\
A study is a YAML file with a list of runs (runs), a full grid of values (grid), or changes one at a time (sweep). Its keys are the options
of fredholm solve. After Ctrl-C, a crash or the loss of a cluster, the same command continues: finished runs are not repeated.

examples:
  fredholm study study.yaml                                   one run after the other, seeds over all cores
  fredholm study study.yaml --workers 4                       four parallel processes
  fredholm study study.yaml --scheduler tcp://10.0.0.1:8786   on a Dask cluster

study.yaml:
  base: {problem: poisson, steps: 2000, seeds: 4}
  runs:
    standard: {method: standard, n: 2, batch: 400}
    delayed: {method: delayed-target, n: 1, batch: 400}
  grid: {width: [32, 64], learning-rate: [1e-3, 1e-4]}"""
REPRODUCE = """\
Each figure is drawn in the paper's layout, with the published numbers beside ours. Each claim gets a verdict: holds, does not hold, or
open. Figures of one scale share their runs. The estimated time is printed first.

  smoke     a few steps of every run: does it work?
  laptop    4 seeds and 10 000 to 20 000 steps of most runs; about an hour a figure on 2 cores
  headline  4 seeds and 200 000 steps; all is what decides the main claims: Figures 1 to 6, Figure 4 with six methods
  paper     100 seeds and 200 000 steps, as published: for a cluster

examples:
  fredholm reproduce figure-1 --scale laptop
  fredholm reproduce all --scale laptop                       finished runs are not repeated
  fredholm reproduce all --scale headline                     the same command again goes on where it was left
  fredholm reproduce figure-4 --scale paper --scheduler tcp://10.0.0.1:8786"""
NEW = """\
The file holds a small equation with comments: change it into your own. Kinds: memory (limits that move with x), weak (the divergence
theorem on random discs), inverse (an unknown number inside the integral).

examples:
  fredholm new my_problem.py
  fredholm new flux.py --kind weak"""
CHECK = """\
Shapes and numbers at random points, the residual of the exact solution, integrals whose random nodes have no variance, and missing
conditions. The exit code is 1 if something is wrong or suspicious.

examples:
  fredholm check my_problem.py:problem
  fredholm check poisson --set dim=5"""
DIAGNOSE = """\
It reads the run's history and draws a few new samples. It finds a biased loss, a target that drifts or lags, a gradient that is mostly
noise, a network that is too small or has dead units, an optimiser that is stuck, and a missing condition. The exit code is 1 if something
is wrong.

examples:
  fredholm diagnose runs/mine
  fredholm diagnose runs/mine --problem my_problem.py:problem"""
