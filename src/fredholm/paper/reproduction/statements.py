"""The paper's own statements about its figures, each once, in its words. A claim that repeats none of them is ours."""

from typing import NamedTuple


class Statement(NamedTuple):
    """A sentence of the paper that a figure can bear out."""

    figures: str  # where it can be seen
    words: str  # shortened


OVER_SMOOTH = Statement("1", "The model trained with high estimation variance derives an overly smooth solution.")
BOUNDED = Statement("1", "The training loss of the model with N=1 is lower bounded by its excess variance.")
FLOORED = Statement("1", "For N=1, the training loss seems to be floored at the same value as the integration variance.")
LESS_VARIANCE = Statement("1", "N=1 successfully finds a solution with a smaller variance than the N=100 model.")
LOWER_LOSS = Statement("1", "With N=100, the model produces lower training losses.")

STEADY = Statement("2", "With N=1, deterministic sampling is stable and yields results similar to those of the standard method.")
UNSTABLE = Statement("2", "Double sampling with N=1 exhibits unstable trainings.")
BETTER_WITH_MORE = Statement("2", "With N=100, both deterministic and double sampling yield stable training curves and better solutions.")
BEST = Statement("2", "The delayed target method yields better performance than deterministic or double sampling in this problem.")

DIVERGES = Statement("3", "With M=100 the delayed target is unstable.")
SMALL_SPLIT = Statement("3", "With M=10 it is stable.")
DRIFT = Statement("3", "When it diverges, a clear drift between the main and the target models can be observed.")
CURED = Statement("3", "The Bayesian prior can lead to training convergence even with a larger M=1000.")
BIASED_SPLIT = Statement("3, 16", "A small target weight can effectively cause the method to seek biased solutions.")

HARDER = Statement("4", "Higher dimensions make the problem challenging.")
COMPARABLE_HIGH = Statement("4", "Delayed targeting with N=1 is comparable to standard training with N=100.")
QUADRATURE = Statement("4", "Gaussian and Leja quadrature seem to be less effective in this problem.")
QMC = Statement("4", "QMC methods certainly improve upon the standard i.i.d. estimators.")
COMPARABLE_QMC = Statement("4", "The delayed target with N=1 performs similarly to QMC with N=100.")
MORE_SAMPLES = Statement("4", "The delayed target can be improved further by increasing N.")

SMOOTH_MAXWELL = Statement("5", "Standard and deterministic training with small N produce overly smooth solutions.")
AT_FIRST = Statement(
    "5", "Double sampling with small N improves the solution at first, but has difficulty maintaining a stable improvement."
)
COMPARABLE_MAXWELL = Statement("5", "Delayed targeting with small N produces solutions comparable to standard training with large N.")

BIASED_SMOLUCHOWSKI = Statement("6", "Standard training with N=1 leads to a biased solution; with N=100 it suffers less.")
COMPARABLE_SMOLUCHOWSKI = Statement("6", "The delayed target with N=1 produces solution quality comparable to standard with N=100.")
NO_BOTTLENECK = Statement("6", "It is not bottlenecked by the integration variance.")
SLIGHTLY_BETTER = Statement("7", "The delayed target with N=1 produced slightly better results than the standard method with N=100.")
KEEPS_QUALITY = Statement("7", "It maintains its quality in higher dimensions, where the bias may be more pronounced.")

LARGE_N = Statement("8, 9", "Deterministic sampling can train successfully with large N.")
NO_REMEDY = Statement("8, 9", "Deterministic sampling may not remedy the bias at small N.")
BATCH_STANDARD = Statement("8, 9", "The number of volumes in each epoch has minimal to no effect on the standard method.")
BATCH_DELAYED = Statement("8, 9", "The delayed target method improves with a larger batch size.")

STEADY_NETWORKS = Statement("10, 11", "Standard training is steady across depths, widths and activation functions.")
DEEPER = Statement("10 to 13", "The delayed target method seems to be enhancing with deeper networks.")
WIDER = Statement("10 to 13", "The delayed target method seems to be enhancing with wider networks.")
RELU = Statement("10, 11", "ReLU performs substantially worse than tanh or SiLU.")
SILU_TANH = Statement("10, 11", "SiLU or tanh seem to work similarly.")
RELU_STUCK = Statement("12, 13", "ReLU prevents the delayed target method from improving during the entire training.")
TOO_WIDE = Statement("11, 13", "In the Maxwell problem, the widest network produces poor performance.")
DEPTH_SMOLUCHOWSKI = Statement("11, 13", "In the Smoluchowski problem, the depth makes little to no difference.")
WIDTH_SMOLUCHOWSKI = Statement("11, 13", "In the Smoluchowski problem, there is no substantial difference between widths.")

ROBUST_VOLUMES = Statement("14", "The delayed target method is robust to the law of the integration volumes.")
SENSITIVE_VOLUMES = Statement("14", "Standard training tends to be sensitive to the law of the integration volumes.")
CHARGES = Statement("15", "The performance trends are quite consistent for each method, wherever the charges are.")

INNER_TAU = Statement("16, 17", "Neither a significantly small nor a substantially large τ can yield optimal training.")
SMALL_PULL = Statement("16", "A small λ causes the method to diverge in the Poisson problem.")
LARGE_PULL = Statement("16", "A λ too large can slow down the training.")
LARGE_SPLIT = Statement("16", "An M too large may cause the variance of the loss to explode.")

ONE_ANGLE = Statement("18", "Sampling the (d − 1)-dimensional cube works best for both QMC and quadrature.")
QUADRATURE_SENSITIVE = Statement("18", "Quadrature is particularly sensitive to this choice.")
TAU_PEAK = Statement("19", "Tuning τ can improve the peak performance.")
PULL_STABLE = Statement("19", "λ can stabilise the training curves.")
SPEED = Statement("19", "Both τ and λ control the training speed.")
MAIN_SAMPLES = Statement("20", "N'=5 and N=1 performs better than N'=1 and N=5.")
BALANCED = Statement("20", "N=N'=3 yields better results than both.")
RATES = Statement("21", "The poor performance of the standard method is consistent for a wide range of learning rates.")

STATEMENTS = tuple(value for value in list(globals().values()) if isinstance(value, Statement))
