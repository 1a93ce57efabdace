PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

FLOORS := .venv-floors
FLOORS_BIN := $(FLOORS)/bin

PEERS := .venv-peers
PEERS_BIN := $(PEERS)/bin

BOOK := .venv-docs
BOOK_BIN := $(BOOK)/bin

TRIAL ?= /tmp/onepath-trial

.PHONY: demo test check lint floors bench bench-peers docs wheel try-wheel clean

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
	$(PYTHON) tests/floors.py parquet paper studio xarray > $(FLOORS)/pins.txt
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

# the book; once its environment is there, nothing is fetched
$(BOOK)/installed: pyproject.toml
	$(PYTHON) -m venv $(BOOK)
	$(BOOK_BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

wheel: $(VENV)/installed
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

# as a newcomer has it: an environment of its own, outside of the checkout
try-wheel: wheel
	rm -rf $(TRIAL) && mkdir -p $(TRIAL) && $(PYTHON) -m venv $(TRIAL)/env
	$(TRIAL)/env/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(TRIAL) && env/bin/onepath --version && env/bin/onepath demo

docs: $(BOOK)/installed
	$(BOOK_BIN)/python -m sphinx -W --keep-going -n -q -b html docs out/book
	$(BOOK_BIN)/python docs/_ext/links.py out/book
	@echo "The book is in out/book/index.html"

clean:
	rm -rf $(VENV) $(FLOORS) $(PEERS) $(BOOK) docs/tutorials .pytest_cache .mypy_cache .ruff_cache
