# make demo · make test · make lab · make formgrader
# make lint · make coverage · make audit · make attacks · make soak · make bench · make release
PYTHON ?= python3
STAFF := .venv
STUDENT := .venv-student
BIN := $(STAFF)/bin
# Three on two cores: browsers and loops that are to be stopped wait half of the time.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
PIP := -m pip --disable-pip-version-check --quiet
BOTH := $(MAKE) --no-print-directory --jobs 2
CODE := $(shell find course autograder -path '*/static' -prune -o -name '*.py' -o -name '*.js' -o -name '*.json' -o -name 'pyproject.toml')
unexport PYTHONDONTWRITEBYTECODE  # a module is compiled when it is first imported, and never again
NEEDS := import tomllib; made = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  print(*made["dependencies"], *made["optional-dependencies"]["lab"])
FRONTEND := hatch_build.py $(wildcard course/frontend/.npmrc course/frontend/*.json course/frontend/*.mjs course/frontend/src/*)

.PHONY: demo test coverage lab formgrader lint audit attacks soak bench release install clean

demo: install
	$(BIN)/rlinfra-grade demo

test:
	@$(BOTH) .make/model .make/student lint
	$(BIN)/python -m tests.preflight
	$(BIN)/python -m pytest $(PARALLEL)

# Every test as thorough as it can be, and measured: takes three times as long, and fails below nine lines of ten.
coverage:
	@$(BOTH) .make/model .make/student
	rm -rf build/coverage && mkdir -p build/coverage
	RLINFRA_THOROUGH=1 $(BIN)/coverage run -m pytest $(PARALLEL)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lint: .make/staff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: install
	$(BIN)/rlinfra-grade audit

# Every attack, with the points it gets here and from plain nbgrader, then what each reaches without the defence that
# it targets: takes a quarter of an hour.
attacks: install
	$(BIN)/python -m tests.attacks
	RLINFRA_ALL_ATTACKS=1 $(BIN)/python -m pytest tests/attacks

# 300 hostile notebooks in a row: what is left of them, and what the next student gets. Then a batch of 1,000, one of
# twenty hostile or broken, and one that is killed 25 times.
soak: install
	$(BIN)/python -m tests.attacks.soak
	$(BIN)/python -m tests.soak

# Ratios to a named rival or a floor, written to benchmarks/results.md: for a machine that does nothing else.
bench: install
	$(BIN)/python -m benchmarks

release: install
	$(BIN)/rlinfra-grade release

# Notebooks to work on are copies: nothing that is there already is overwritten.
lab: install
	mkdir -p notebooks
	cp -Rn release/. notebooks/
	cd notebooks && ../$(STUDENT)/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

# The formgrader needs JupyterLab's login: it opens from the menu Nbgrader.
formgrader: install
	@echo "In JupyterLab, choose Nbgrader > Formgrader."
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

# Two environments, made side by side: the staff's, and the student's, in which submissions run and which holds no staff
# package.
install:
	@$(BOTH) .make/staff .make/student

# Not compiled beforehand, and neither is what comes next: of many thousand modules a few are ever imported.
.make/staff: pyproject.toml constraints.txt $(FRONTEND) autograder/reference/pyproject.toml autograder/grader/pyproject.toml | $(STAFF)/bin/python
	@echo "Installing the staff's environment in $(STAFF) …"
	$(BIN)/python $(PIP) install --no-compile -c constraints.txt -e '.[lab,dev]' -e autograder/reference -e autograder/grader
	@mkdir -p .make && touch $@

# What `rlinfra measure` and its tests need, torch among it: for the tests, and not for the demo. The import compiles
# what is needed of it, so that the first measurement need not.
.make/model: .make/staff
	@echo "Installing the extra model (torch, transformers) in $(STAFF) …"
	$(BIN)/python $(PIP) install --no-compile -c constraints.txt -e '.[model]'
	$(BIN)/python -c 'from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast, Qwen3ForCausalLM'
	@touch $@

# What `rlinfra[lab]` needs, without itself: its own part comes after the staff's, which has built the chart's JavaScript
# by then.
.make/student-packages: pyproject.toml constraints.txt | $(STUDENT)/bin/python
	@echo "Installing the student's environment in $(STUDENT) …"
	$(STUDENT)/bin/python $(PIP) install -c constraints.txt coverage $$($(STUDENT)/bin/python -c '$(NEEDS)')
	@mkdir -p .make && touch $@

.make/student: .make/student-packages $(CODE) $(FRONTEND) | .make/staff
	$(STUDENT)/bin/python $(PIP) install --no-deps --force-reinstall .
	@touch $@

$(STAFF)/bin/python $(STUDENT)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, and $(PYTHON) is older or missing. Install one, or say PYTHON=python3.12."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make virtual environments: install python3-venv (apt-get install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(@:/bin/python=)

clean:
	rm -rf $(STAFF) $(STUDENT) .make build course/rlinfra/chart/static .mypy_cache .pytest_cache .ruff_cache .hypothesis
