"""What the help of each command says below its options: how it works in a few words, and examples that a test parses."""

TOP = """\
examples:
  fredholm list                                          what there is
  fredholm solve volterra                                one sample for each integral, and no bias
  fredholm solve poisson --method standard --n 100       another method, with 100 samples
  fredholm check my_problem.py:problem                   what is wrong with your own equation, before training
  fredholm solve my_problem.py:problem --seeds 8         your own equation, from your own file
  fredholm compare volterra --methods standard delayed-target --n 1
  fredholm resume runs/volterra-2026-11-15-1a2b3c        after Ctrl-C, a crash, or to go on
  fredholm diagnose runs/volterra-2026-11-15-1a2b3c      why it failed, and what to do
  fredholm theory                                        the paper's theorem on a worked example
  fredholm reproduce figure-1 --scale laptop             a figure of the paper, and whether its claims hold here
  fredholm study study.yaml --workers 2                  a sweep with matched seeds

fredholm COMMAND --help explains a command."""
SOLVE = """\
What is not given is the problem's own default; for your own equation a short pilot chooses it and says why (--method auto).

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
All methods get the same seeds: the same first networks and, at equal --n and --batch, the same points. --tau and the like go to the
methods that have them.

examples:
  fredholm compare volterra --methods standard delayed-target --rule monte-carlo --n 1
  fredholm compare poisson --methods standard double-sampling delayed-target --n 2 --steps 5000
  fredholm compare volterra --methods 'DelayedTarget(tau=0.9)' 'DelayedTarget(tau=0.999)'
  fredholm compare --zoo                                  the table of docs/zoo.md; hours. What is finished is not run again
  fredholm compare --zoo --cases volterra fredholm-nonlinear --scale 0.1 --out runs/zoo-quick"""
RESUME = """\
A resumed run equals an uninterrupted one, bit for bit on the same devices. For a run of your own file.py:name the file is imported
again, and this is said; nothing else that a run folder holds is ever executed.

examples:
  fredholm resume runs/mine                    to the planned number of steps
  fredholm resume runs/mine --steps 40000      to 40000 steps in all
  fredholm resume runs/mine --steps +5000      5000 steps more than planned"""
REPORT = """\
Nothing that the folder holds is imported or executed.

examples:
  fredholm report runs/mine
  fredholm report runs/comparison              a folder with several runs gives one page with all of them"""
PREDICT = """\
The file has the mean over the seeds, that of the networks without the averaging of their parameters, that of the target networks (the
delayed copies), the exact solution where it is known, and every seed's own prediction.

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
  fredholm theory --steps 2000 --runs 16                a quick look"""
STUDY = """\
A study is a list of runs, a grid, or one-at-a-time changes, in YAML; its keys are the options of fredholm solve. What is finished is not
run again: after Ctrl-C, a crash or the loss of a cluster, give the same command.

examples:
  fredholm study study.yaml                                   one run after the other, seeds over all cores
  fredholm study study.yaml --workers 4                       four processes
  fredholm study study.yaml --scheduler tcp://10.0.0.1:8786   on a Dask cluster

study.yaml:
  base: {problem: poisson, steps: 2000, seeds: 4}
  runs:
    standard: {method: standard, n: 2, batch: 400}
    delayed: {method: delayed-target, n: 1, batch: 400}
  grid: {width: [32, 64], learning-rate: [1e-3, 1e-4]}"""
REPRODUCE = """\
Each figure is drawn in the paper's layout with the published numbers beside ours, and its claims get a verdict: holds, does not hold, or
not resolved at this scale. Figures of one scale share their runs. The estimated time is printed first.

  smoke    a few steps of every run: does it work?
  laptop   4 seeds and 10 000 to 20 000 steps of most runs; about an hour a figure on 2 cores
  paper    100 seeds and 200 000 steps, as published: for a cluster

examples:
  fredholm reproduce figure-1 --scale laptop
  fredholm reproduce all --scale laptop                       what is finished is not run again
  fredholm reproduce figure-4 --scale paper --scheduler tcp://10.0.0.1:8786"""
CHECK = """\
Shapes and numbers at random points, the residual of the exact solution, integrals whose random nodes have no variance, and missing
conditions. The exit code is 1 where something is wrong or suspicious.

examples:
  fredholm check my_problem.py:problem
  fredholm check poisson --set dim=5"""
DIAGNOSE = """\
From the run's history and a few fresh samples: a biased loss, a target that is left behind or lags, a gradient of noise, a network that is
too small or whose units died, an optimiser that is stuck, a condition that is missing. The exit code is 1 where something is wrong.

examples:
  fredholm diagnose runs/mine
  fredholm diagnose runs/mine --problem my_problem.py:problem"""
