# Everything a newcomer needs: `make demo` and `make test` make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

BENCH := .venv-bench
MINUTES ?= 90

SCALE ?= laptop
FIGURES ?= all

SEED ?= $(shell date +%s)
EXAMPLES ?= 5000

SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs

.PHONY: help venv demo test attack lint docs site package gallery reproduce bench bench-quick clean

help:  ## What there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

venv: $(VENV)/.ready  ## .venv with the package and all that tests need

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: venv  ## The bias of the integral loss and its cure, as tables and a page; a few minutes
	$(BIN)/python -m fredholm.study.demo --out runs/demo

test: venv  ## The whole suite
	$(BIN)/python -m pytest -n 2 --dist worksteal

attack: venv  ## Random input, damaged folders, kills and many solves; SEED=1 EXAMPLES=5000; docs/reliability.md has what it found
	$(BIN)/python tests/attack.py --seed $(SEED) --examples $(EXAMPLES)

lint: venv  ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: venv  ## Makes the pictures and tables of docs/ again
	$(BIN)/python docs/make_rules_page.py
	$(BIN)/python docs/make_problem_pictures.py
	$(BIN)/python docs/make_theory_page.py
	$(BIN)/python docs/make_choosing_picture.py

site: venv  ## The documentation as pages that open offline: site/index.html
	$(SITE) build --quiet

package: venv  ## The wheel in dist/, tried in an empty environment
	rm -rf dist .venv-empty
	$(BIN)/python -m build --quiet
	$(PYTHON) -m venv .venv-empty
	.venv-empty/bin/python -m pip install --quiet dist/*.whl
	cd .venv-empty && bin/fredholm doctor && bin/python $(CURDIR)/tools/try_package.py
	rm -rf .venv-empty

gallery: venv  ## Runs what examples/ has anew, for the gallery: output, error, time, picture; EXAMPLE="volterra basket" for some of them
	$(BIN)/python docs/make_gallery.py $(EXAMPLE)

reproduce: venv  ## The paper's figures, without the runs that docs/records has; SCALE=smoke|laptop|headline|paper, FIGURES="figure-1 ..."
	for figure in $(FIGURES); do \
	  $(BIN)/fredholm reproduce $$figure --scale $(SCALE) --out runs/reproduce-$(SCALE) --records docs/records || exit $$?; \
	done

$(BENCH)/.ready: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --editable '.[bench]'
	$(BENCH)/bin/python -m pip install --quiet --no-deps torchphysics==1.1.2
	touch $@

.venv-idesolver/.ready:  # it needs numpy < 2
	$(PYTHON) -m venv .venv-idesolver
	.venv-idesolver/bin/python -m pip install --quiet 'idesolver==1.1.0' 'numpy<2'
	touch $@

bench: $(BENCH)/.ready .venv-idesolver/.ready  ## Speed beside PyTorch and other libraries, into docs/benchmarks.md; MINUTES=90 is the budget of its longest section
	$(BENCH)/bin/python benchmarks/throughput.py --write --minutes $(MINUTES)
	$(BENCH)/bin/python benchmarks/libraries.py --write
	$(BENCH)/bin/python benchmarks/volterra.py --write
	$(BENCH)/bin/python benchmarks/accuracy.py --write
	$(BENCH)/bin/python benchmarks/digits.py --write --more
	$(BENCH)/bin/python benchmarks/peers.py --write
	$(BENCH)/bin/python benchmarks/dimension.py --write
	$(BENCH)/bin/python benchmarks/scaling.py --write
	$(BENCH)/bin/python benchmarks/devices.py --write
	$(BENCH)/bin/python benchmarks/startup.py --write
	$(BENCH)/bin/python benchmarks/overhead.py --write

bench-quick: venv  ## About two minutes: the training step against a plain JAX loop, as ratios
	$(BIN)/python benchmarks/quick.py

clean:  ## Removes the environment and caches
	rm -rf $(VENV) $(BENCH) site .cache dist .pytest_cache .ruff_cache .hypothesis
