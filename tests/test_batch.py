"""Many series as one program: the same cells, graphs and answers as fits of one, and what is left to these."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import onepath
from onepath import SDE
from onepath.compare.processes import PROCESSES
from onepath.data.cells import cells_of as cells_of_one
from onepath.data.transitions import Transitions, units_of
from onepath.graph.default import GraphOptions, build_graph
from onepath.inference.batch.bases import Chosen
from onepath.inference.batch.cells import cells_of
from onepath.inference.batch.engine import SEARCHED, Best, Sought
from onepath.inference.batch.evidence import Judged
from onepath.inference.batch.fit import _learned
from onepath.inference.batch.search import Descent, Same
from onepath.inference.batch.stack import graph_of, stacked
from onepath.inference.batch.stack import units_of as units_of_stack
from onepath.inference.completion.loop import CONVERGED, RUNNING
from onepath.numerics.roots import inverse_root
from onepath.panel.batched import ALONE, fit_batched
from onepath.panel.layout import series_in
from onepath.panel.one import failed
from onepath.panel.panel import fit_panel


def walk(count, seed, uneven=False):
    """Transitions of a random walk, the last of them weighing nothing after a gap."""
    rng = np.random.default_rng(seed)
    dt = rng.uniform(0.5, 2.0, count) if uneven else np.full(count, 0.1)
    y = (np.sqrt(dt) * rng.standard_normal(count))[:, None]
    x = np.cumsum(y, axis=0) - y
    return Transitions(x, y, dt)


def test_cells_and_graphs_are_those_of_a_fit_of_one():
    series = [walk(499, 100), walk(300, 101), walk(499, 102, uneven=True), walk(40, 103)]
    stack = stacked(series, [np.r_[np.inf, one.dt[:-1]] for one in series], 512)
    template = build_graph(GraphOptions(), series[0], units_of(series[0], common=False))

    @jax.jit
    @jax.vmap
    def prepared(one):
        units = units_of_stack(one)
        return cells_of(one, units, 256), graph_of(template, one, units)

    with jax.enable_x64(True):
        cells, graphs = jax.tree.map(np.asarray, prepared(stack))
    for k, one in enumerate(series):
        units = units_of(one, common=False)
        for batched, alone in zip(cells, cells_of_one(one, units, 256), strict=True):
            np.testing.assert_allclose(batched[k], alone, rtol=0, atol=1e-13)
        leaves = zip(*map(jax.tree.leaves, (graphs, build_graph(GraphOptions(), one, units))), strict=True)
        for batched, alone in leaves:
            np.testing.assert_allclose(batched[k], alone, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("size", [3, 26])
def test_a_root_is_that_of_its_matrix_and_nothing_where_there_is_none(size):
    rows = np.random.default_rng(0).standard_normal((2, size, 2 * size))
    matrices = rows @ rows.swapaxes(1, 2)
    matrices[1] -= 2.0 * np.linalg.eigvalsh(matrices[1])[0] * np.eye(size)
    with jax.enable_x64(True):
        good, bad = np.asarray(jax.jit(jax.vmap(inverse_root))(matrices))
    np.testing.assert_allclose(good @ matrices[0] @ good.T, np.eye(size), atol=1e-8)
    assert np.isnan(bad).any()


def long_table(names, rows=300):
    parts = []
    for k, name in enumerate(names):
        process = PROCESSES[name]
        x = process.simulate(rows, random_state=100 + k)[0, :, 0]
        parts.append(pd.DataFrame({"unique_id": f"s{k}", "ds": process.dt * np.arange(len(x)), "y": x}))
    return pd.concat(parts, ignore_index=True)


def test_what_a_batch_does_not_know_is_refused_before_any_work(monkeypatch):
    table = long_table(["ou"])
    plain = {"sde": SDE(), "verdict": False, "progress": False}
    with pytest.raises(ValueError, match="usual equations"):
        fit_panel(table, SDE(equations="only"), verdict=False, device="gpu")
    with pytest.raises(ValueError, match="usual jumps"):
        fit_panel(table, SDE(jumps=True), verdict=False, device="gpu")
    with pytest.raises(ValueError, match="diagnoses no model"):
        fit_panel(table, device="gpu")
    with pytest.raises(ValueError, match="'cpu' or 'gpu'"):
        fit_panel(table, **plain, device="tpu")
    seen = jax.devices

    def without(platform=None):
        if platform == "gpu":
            raise RuntimeError("Unknown backend: 'gpu' requested")
        return seen()

    monkeypatch.setattr(jax, "devices", without)
    with pytest.raises(RuntimeError, match=r"sees none, only: .*jax\[cuda"):
        fit_panel(table, **plain, device="gpu")


class Counting:
    """An engine whose searches end after as many evaluations as their cells say, odd ones with more room alone."""

    def __init__(self):
        self.based = {room: partial(self.chosen, room) for room in SEARCHED}

    def chosen(self, room, graph, cells, _):
        return Chosen(jnp.array(graph), 0 * cells, (cells % 2 == 0) | (room == SEARCHED[-1]))

    def begin(self, room, graph, cells):
        graph, rank, enough = self.chosen(room, graph, cells, None)
        nothing = Judged(0 * cells, 0 * cells, 0 * cells)
        state = Descent(cells + 0, nothing, cells + 0, cells + 0, cells + 0, cells > 0, 0 * cells, 0 * cells)
        return Sought(graph, rank, enough, state)

    def go_on(self, cells, sought):
        done = sought.descent.evaluations + 1
        state = sought.descent._replace(evaluations=done, code=jnp.where(done >= cells, CONVERGED, RUNNING))
        return sought._replace(descent=state)

    def settle(self, cells, sought):
        found = sought.descent.evaluations
        return Best(cells + 0, 1.0 * found, cells + 0, Same(cells + 0, cells + 0), found + 0)


@pytest.mark.parametrize("count", [3, 4, 9])
def test_searches_end_each_at_its_own_time_whoever_fills_their_chunk(count):
    wanted = 3 + np.random.default_rng(count).permutation(count)
    rows = jnp.asarray(np.pad(wanted, (0, -count % 4), mode="edge"))
    best = _learned(Counting(), rows, rows, count, 4)
    np.testing.assert_array_equal(np.asarray(best.evaluations)[:count], wanted)
    np.testing.assert_array_equal(np.asarray(best.value)[:count], wanted)


NUMBER = re.compile(r"\d+\.?\d*")


def taken_apart(equation):
    """Its words, its coefficients without their errors, and its probability in per cent."""
    text = re.sub(r"\(\d+\)", "", equation)
    *coefficients, chance = map(float, NUMBER.findall(text))
    return NUMBER.sub("", text), coefficients, chance


@pytest.mark.slow
def test_a_batch_answers_as_fits_of_one_do_and_leaves_what_it_cannot():
    """Euler's law and the linearised one, waves that ask for another search, and a series that is constant."""
    table = long_table(["ou", "ou_slow", "cir", "gbm", "double_well_multiplicative", "logistic"])
    table.loc[table["unique_id"] == "s5", "y"] = 1.0
    waves = pd.DataFrame({"unique_id": "waves", "ds": 0.01 * np.arange(400)})
    waves["y"] = np.cumsum(np.random.default_rng(100).standard_normal(400) * 0.1)
    waves.loc[200:, "y"] += 40.0 * (np.arange(200) % 2)  # sizes that cluster, which a level of the noise explains
    table = pd.concat([table, waves], ignore_index=True)
    alone = onepath.fit_panel(table, verdict=False, progress=False, workers=1)
    left = []

    def by_themselves(some):
        left.extend(one.key for one in some)
        yield [failed(one, "") for one in some]

    series = list(series_in(table, alone.plan.layout, alone.plan.recipe))
    batches = fit_batched(alone.plan, series, by_themselves, jax.devices("cpu")[0], chunk=8)
    records = {record["key"]: record for batch in batches for record in batch}
    rows = alone.series.set_index("unique_id")
    assert set(records) == set(rows.index)
    assert records["s5"]["row"]["reason"] == rows.loc["s5", "reason"]
    assert "waves" in left
    assert records["waves"]["row"]["notes"].startswith(ALONE)
    answered = [key for key in records if key not in (*left, "s5")]
    assert len(answered) >= 4
    assert {rows.loc[key, "law"] for key in answered} == {"euler", "linearised"}
    for key in answered:
        row, own = records[key]["row"], alone.curves[alone.curves["unique_id"] == key]
        assert row["law"] == rows.loc[key, "law"]
        assert row["score"] == pytest.approx(rows.loc[key, "score"], abs=1e-4)
        assert row["log_evidence"] == pytest.approx(rows.loc[key, "log_evidence"], abs=1e-2)
        assert set(row) == set(rows.columns)
        for name in ("drift_equation", "noise_equation"):
            (text, coefficients, chance), (same, others, other) = map(taken_apart, (row[name], rows.loc[key, name]))
            assert text == same
            assert coefficients == pytest.approx(others, rel=0.02)
            assert chance == pytest.approx(other, abs=2.0)
        for what in ("drift", "diffusion"):
            width = own[f"{what}_upper"] - own[f"{what}_lower"]
            apart = np.abs(np.asarray(records[key]["curves"][what]) - own[what])
            assert np.max(apart / width) < 0.01
