# Two commands for a newcomer: `make demo` and `make test`. CI runs the same names.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install $(PIP_OPTIONS) --quiet --disable-pip-version-check --constraint constraints.txt

# Published data sets lie in data/ or where STEEPLECHASE_DATA says; a checkout beside a folder of shared data uses that.
ifneq ($(wildcard ../shared/data/.),)
export STEEPLECHASE_DATA ?= $(abspath ../shared/data)
endif

# Tests wait for fsync most of their time: their folders are in memory, where there are some GB of it for files.
ifeq ($(shell test "$$(df --output=avail -m /dev/shm 2>/dev/null | tail -1)" -gt 4000 2>/dev/null && echo yes),yes)
IN_MEMORY := TMPDIR=/dev/shm
endif

# Processors wait in a third of the tests' time, for children and sockets.
TEST_PROCESSES := $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

.PHONY: help demo search test bench gpu-check check format schema reference reports docs pages audit faults clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target what; do \
	  printf '%-16s %s\n' "$$target" "$$what"; done

demo: $(VENV)/ready-to-run ## the four rows of Table 2 of ConvBERT on the embedded corpus
	$(BIN)/steeplechase run experiments/demo.yaml --scale demo

search: $(VENV)/ready-to-run ## a joint search by score under hurdles, its finalists and the ablation of the winner
	$(BIN)/steeplechase run experiments/joint.yaml --scale demo

test: $(VENV)/ready-to-develop ## all tests
	OMP_NUM_THREADS=1 $(IN_MEMORY) $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --maxprocesses 8 --dist loadfile --no-loadscope-reorder

bench: $(VENV)/ready-to-develop ## speed and memory against named peers, in one table
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

gpu-check: $(VENV)/ready-to-develop ## ten minutes on one GPU: repeats, speed and use of the card, a line of JSON each
	$(BIN)/python -m benchmarks.gpu_check

check: $(VENV)/ready-to-develop ## lint, format, strict types, layering, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/steeplechase schema | cmp - experiments/schema.json
	$(BIN)/steeplechase reference | cmp - docs/reference.md
	$(BIN)/python -m tools.pages --check

format: $(VENV)/ready-to-develop ## rewrite the code in the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: $(VENV)/ready-to-develop ## regenerate the JSON schema that editors use
	$(BIN)/steeplechase schema > experiments/schema.json

reference: $(VENV)/ready-to-develop ## regenerate docs/reference.md from the declarations
	$(BIN)/steeplechase reference > docs/reference.md

reports: $(VENV)/ready-to-run ## published pages and claims again from their rows; every format into build/reports
	$(BIN)/steeplechase rebuild reports/published --all-formats build/reports
	$(BIN)/steeplechase claims > reports/published/claims.md

docs: $(VENV)/ready-to-document ## all pages as a site with search, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html; with search: python3 -m http.server --directory build/site"

pages: $(VENV)/ready-to-run ## pages with numbers of published reports, from docs/templates
	$(BIN)/python -m tools.pages

audit: $(VENV)/ready-to-develop reports ## published verdicts, claims and Shapley values again, by scipy and statsmodels
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.audit

faults: $(VENV)/ready-to-develop ## kills, full disks, damage, hostile files and outages, until every row of docs/reliability.md has its reach
	nice -n 15 $(BIN)/python -m tools.faults

clean: ## drop the environment; results are kept
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 5; }
	$(PYTHON) -m venv $(VENV)
	-$(PIP) --upgrade pip  # the one that comes with Python 3.11 takes more than twice the processor time

$(VENV)/ready-to-run: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing pinned dependencies into $(VENV); some minutes and 2 to 6 GB the first time."
	$(PIP) --editable ".[texts]"
	@touch $@

$(VENV)/ready-to-develop: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing pinned dependencies into $(VENV); some minutes and 2 to 6 GB the first time."
	$(PIP) --editable '.[development]'
	@touch $@ $(VENV)/ready-to-run

$(VENV)/ready-to-document: $(VENV)/ready-to-run
	$(PIP) --editable '.[docs]'
	@touch $@
