# `make demo` and `make test` do all set-up themselves; nothing but Python 3.11+, make and pip is needed.
PYTHON ?= python3
VENV ?= .venv
DOCS_VENV ?= .venv-docs
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL := $(PIP) -c constraints.txt
SOURCES := pyproject.toml plugins/pyproject.toml constraints.txt

.PHONY: demo docs papers-small test lint types audit dist locked clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.light: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e '.[serve]'
	touch $@

$(VENV)/.demo: $(VENV)/.light
	$(INSTALL) -e '.[offline]' -e ./plugins
	touch $@

$(VENV)/.dev: $(SOURCES) | $(BIN)/python
	$(INSTALL) -e '.[dev]' -e ./plugins
	touch $@

## Four real manuals and questions that people wrote about them: read, index, search, train, compare. Fetched once, into .demo.
demo: $(VENV)/.light
	$(BIN)/structformer pull minilm
	$(BIN)/python examples/demo.py search
	$(MAKE) $(VENV)/.demo
	$(BIN)/python examples/demo.py train

## The papers' zero-shot and fine-tuned tables with BERT-base, in about an hour on one GPU; without one it measures and
## says how long that would take. ARGS goes to the script: make papers-small ARGS="--hours 3 --seeds 5".
papers-small: $(VENV)/.demo
	$(BIN)/python benchmarks/papers_small.py $(ARGS)

## The whole test suite; a file's tests stay together, since they share what they read. ARGS goes to pytest:
## make test ARGS="-k markdown".
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

## The documentation as a site that searches itself, into build/docs. An environment of its own; notebooks are run.
docs: $(DOCS_VENV)/.docs
	$(DOCS_VENV)/bin/python -m sphinx --fail-on-warning --keep-going -q -b html docs build/docs $(ARGS)
	@echo "python3 -m http.server -d build/docs"

$(DOCS_VENV)/.docs: pyproject.toml plugins/pyproject.toml docs/constraints.txt
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c docs/constraints.txt -e '.[docs]' -e ./plugins
	touch $@

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

## Known vulnerabilities of the pins, by the database of the Python Packaging Authority: it has to be reachable.
audit: | $(BIN)/python
	$(PIP) --require-hashes -r .ci/release-tools.txt
	$(BIN)/python -m pip_audit --disable-pip --require-hashes -r constraints-hashed.txt

## Both distributions, built and checked into dist/, as the workflow `release` does. Before it: python .ci/release.py VERSION.
dist: | $(BIN)/python
	$(PIP) --require-hashes -r .ci/release-tools.txt
	for project in . plugins; do $(BIN)/python -m build --no-isolation --outdir dist $$project || exit 1; done
	$(BIN)/python -m twine check --strict dist/*

## An environment of files with known digests only, for the targets above: `make clean locked test`. In two steps, since
## pip refuses to install a folder with -e, or one whose versions it has to choose, once it sees a digest.
locked: | $(BIN)/python
	$(PIP) --require-hashes -r constraints-hashed.txt
	$(PIP) --no-index --no-deps --no-build-isolation -e . -e ./plugins
	touch $(VENV)/.light $(VENV)/.demo $(VENV)/.dev

clean:
	rm -rf $(VENV) $(DOCS_VENV) build/docs .demo .mypy_cache .ruff_cache .pytest_cache
