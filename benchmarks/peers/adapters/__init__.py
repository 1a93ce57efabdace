"""One file a method. Each has `fit(observed)`, which gives something with `answer(points)`, and `PACKAGES`.

`answer` gives a `contract.Answer`. A fit may also have `log_density(x, y, dt)`, its own mean log predictive density of
increments y that start at x; without it, N(f dt, σσ' dt) is taken.
"""

METHODS = {
    # name in the tables: module, arguments of its `fit`
    "onepath": ("default", {}),
    "SFI order 5": ("force_inference", {"order": 5}),
    "SFI order 9": ("force_inference", {"order": 9}),
    "PyDaddy": ("daddy", {}),
    "kramersmoyal": ("kramers_moyal", {}),
    "jumpdiff": ("jump_diffusion", {}),
    "PySINDy": ("sparse_identification", {}),
    "GP regression": ("regression", {}),
    "pymle (oracle)": ("oracle", {}),
}
OWN = "onepath"
ORACLE = "pymle (oracle)"
