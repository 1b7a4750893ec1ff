# %% [markdown]
# # A training loop of your own
#
# $$\theta \leftarrow \theta - \eta\,\nabla_\theta L(\theta) \quad\text{with the loss of delayed targets}$$
#
# Only the loss comes from the library: a plain Equinox network, optax, and a loop that you control.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import fredholm as fr

BATCH, STEPS = 200, 4000
problem, method = fr.problems.Volterra(), fr.DelayedTarget()
rules = problem.rules(fr.MonteCarlo(1))  # one random sample of the integral at each x
optimizer = optax.adam(optax.cosine_decay_schedule(5e-3, STEPS))


@eqx.filter_jit
def step(u, moments, state, number, key):
    own, after = (jax.random.fold_in(key, n) for n in (number, number + 1))
    (loss, _), gradient = method.loss_and_gradient(u, state, problem, rules, BATCH, own)
    updates, moments = optimizer.update(gradient, moments)
    u = eqx.apply_updates(u, updates)
    state = method.update(u, state, problem, BATCH, number, after)
    return u, moments, state, loss


def train(seed):
    key_network, key = jax.random.split(jax.random.key(seed))
    u = eqx.nn.MLP(1, "scalar", width_size=32, depth=2, activation=jnp.tanh, key=key_network)
    moments, state = optimizer.init(eqx.filter(u, eqx.is_inexact_array)), method.init(u)
    for number in range(STEPS):
        u, moments, state, _ = step(u, moments, state, jnp.asarray(number), key)
    return u


if __name__ == "__main__":
    points = jnp.linspace(0.0, 5.0, 500)[:, None]
    truth = jax.vmap(problem.exact)(points)
    error = jnp.linalg.norm(jax.vmap(train(0))(points) - truth) / jnp.linalg.norm(truth)
    print(f"relative L2 error {error:.1%}")
