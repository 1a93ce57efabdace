PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

FLOORS := .venv-floors
FLOORS_BIN := $(FLOORS)/bin

PEERS := .venv-peers
PEERS_BIN := $(PEERS)/bin

.PHONY: demo test check lint floors bench bench-peers clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/onepath demo --folder out --force
	$(BIN)/python examples/double_well.py

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# everything that is quick enough for a habit
check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

# the lowest versions that pyproject.toml allows; what those deprecate of each other is not ours to mend
$(FLOORS)/installed: pyproject.toml tests/floors.py
	$(PYTHON) -m venv $(FLOORS)
	$(PYTHON) tests/floors.py parquet paper studio > $(FLOORS)/pins.txt
	$(FLOORS_BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' -r $(FLOORS)/pins.txt
	touch $@

floors: $(FLOORS)/installed
	$(FLOORS_BIN)/python -m pytest -n 2 --dist worksteal -W ignore::DeprecationWarning

# a peers' environment that cannot be made is a result, not the end of the run
$(PEERS)/installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS_BIN)/python -m pip install --quiet --disable-pip-version-check -r $< || rm -f $(PEERS_BIN)/python
	touch $@

bench: $(VENV)/installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/peers/board.py --methods onepath --seeds 2 --output out/bench.json

bench-peers: $(VENV)/installed $(PEERS)/installed
	$(BIN)/python benchmarks/peers/board.py --peers $(PEERS_BIN)/python
	$(BIN)/python benchmarks/peers/speeds.py --peers $(PEERS_BIN)/python
	$(BIN)/python benchmarks/peers/page.py docs/peers.md

clean:
	rm -rf $(VENV) $(FLOORS) $(PEERS) .pytest_cache .mypy_cache .ruff_cache
