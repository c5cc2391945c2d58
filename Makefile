# Two commands matter: `make demo` and `make test`. Each sets up what it needs in .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
OUT    ?= build

# Empty, so that compiled modules are kept whatever the environment says: the tests start hundreds
# of processes, each of which would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=
# numpy's BLAS starts a thread for each core, in hundreds of processes that use none of them.
export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help demo quick replay mutants test test-all checks lint fuzz fuzz-ptx conformance oracle bench docs pictures clean

help:
	@echo "make demo   set up, draw a ray-traced picture with a numba.cuda program, print its time"
	@echo "make quick  the tests nearest to what has changed since BASE=HEAD, for two minutes"
	@echo "make replay BASE=rev  compare what this tree and a commit compile, on every target"
	@echo "make mutants  how many of 60 defects, put in one by one, the tests find; ONLY=name"
	@echo "make test   set up, then lint, type-check and run the tests"
	@echo "make test-all  the same, and all that takes longer, on new random cases"
	@echo "make lint   ruff, import-linter and pyright only"
	@echo "make fuzz   thousands of new random kernels, on the interpreter and the devices"
	@echo "make fuzz-ptx  random and changed PTX for MINUTES=10, with SEED=N or a new one"
	@echo "make conformance  try every op on every device here; the matrix of docs/conformance-matrix.md"
	@echo "make oracle  compare each form of PTX with a model of the ISA; the table of docs/ptx-forms.md"
	@echo "make bench  compare the CPU device with gcc and the installed peers"
	@echo "make docs   build the site of docs/ into build/site; a warning is an error"
	@echo "make pictures  draw the pictures of the tutorial and the gallery again, with their times"
	@echo "make clean  remove $(VENV) and $(OUT)"

# The stamps make set-up run again when the dependencies change, and only then.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "gridlane needs Python 3.11 or newer; set PYTHON=/path/to/python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet -e '.[docs]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	@mkdir -p $(OUT)
	$(BIN)/gridlane run examples/raytracer.py --out $(OUT)/raytracer.png
	@echo "drawn to $(OUT)/raytracer.png"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/lint-imports --no-cache
	$(PY) scripts/stubs.py
	$(BIN)/pyright --pythonpath $(PY)

# What one core does while the other begins with the tests. pytest exits with 5 when it finds no
# test, which is no failure for docstrings.
checks: lint
	$(PY) -m pytest --quiet --doctest-modules src/gridlane || test $$? -eq 5

PYTEST := $(PY) -m pytest -n 2 --dist worksteal -p scripts.testing.seconds -p scripts.testing.crashes --durations 30 --durations-min 3
BESIDE_CHECKS = mkdir -p $(OUT); \
	$(MAKE) --no-print-directory checks > $(OUT)/checks.log 2>&1 & checks=$$!; \
	$(1); tests=$$?; \
	wait $$checks; checks=$$?; cat $(OUT)/checks.log; \
	test $$tests -eq 0 -a $$checks -eq 0

quick: $(VENV)/.installed-dev
	$(BIN)/ruff check --quiet .
	$(PY) -m scripts.testing.quick $(if $(BASE),--base $(BASE))

replay: $(VENV)/.installed-dev
	$(if $(BASE),,$(error name the commit to compare with, as in make replay BASE=main))
	$(PY) -m scripts.testing.replay $(BASE) $(if $(ONLY),--only '$(ONLY)')

mutants: $(VENV)/.installed-dev
	$(PY) -m scripts.testing.mutants $(if $(ONLY),--only $(ONLY)) $(if $(SECONDS),--seconds $(SECONDS))

test: $(VENV)/.installed-dev
	@$(call BESIDE_CHECKS,$(PYTEST))

test-all: $(VENV)/.installed-dev
	@$(call BESIDE_CHECKS,GRIDLANE_TEST_EFFORT=nightly $(PYTEST) -m '')

fuzz: $(VENV)/.installed-dev
	GRIDLANE_TEST_EFFORT=nightly $(PYTEST) tests/property

fuzz-ptx: $(VENV)/.installed-dev
	$(PY) -m tests.frontends.ptx.fuzz --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

conformance: $(VENV)/.installed-dev
	@mkdir -p $(OUT)
	GRIDLANE_METAL=emulated $(BIN)/gridlane conformance --markdown --out $(OUT)/conformance.md
	@echo "written to $(OUT)/conformance.md"

oracle: $(VENV)/.installed-dev
	$(PY) -m tests.frontends.ptx.report --out docs/ptx-forms.md

bench: $(VENV)/.installed
	$(PY) benchmarks/cpu.py
	$(PY) benchmarks/launch.py

# Material's word on MkDocs 2 is for its own users; pyproject.toml asks for 1.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir $(abspath $(OUT))/site
	@echo "built in $(OUT)/site; $(BIN)/mkdocs serve shows it"

pictures: $(VENV)/.installed-dev
	$(PY) scripts/site/tutorial.py
	$(PY) scripts/site/gallery.py
	$(PY) scripts/site/performance.py

clean:
	rm -rf $(VENV) $(OUT)
