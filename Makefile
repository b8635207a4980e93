# Two commands do everything on a fresh machine: `make run` and `make test`. They need Python 3.11 or later, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test check lock clean

run: $(VENV)/installed-run
	$(BIN)/memory-pipeline --config config.toml run --samples if-empty

# Compiled first: the tests start the command over a thousand times, perhaps where Python is told to write no bytecode.
test: $(VENV)/installed-test
	$(BIN)/python -m compileall -q memory_pipeline
	$(BIN)/python -m pytest -n auto --dist worksteal

# Format, lint, strict types, import direction, documentation. `make test` runs the tests.
check: $(VENV)/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_docs.py

# Made anew after a change of the dependencies in pyproject.toml.
lock: $(VENV)/installed-test
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		pyproject.toml --output-file requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		pyproject.toml --extra web --extra mcp --group dev --output-file requirements/test.txt

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("memory-pipeline needs Python 3.11 or later; name one with make PYTHON=…") \
		if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-run: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/installed-test: requirements/test.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@ $(VENV)/installed-run

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
