# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
# How many mutants of each package `make mutants` tries, drawn by a fixed seed; all: every one, which takes hours.
MUTANTS ?= 25

.PHONY: setup demo test test-web test-clients test-clients-more check bench mutants docs format clean

setup: .venv/.ready

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.venv/.core: requirements/core.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -r requirements/core.txt
	$(PIP) --no-deps --editable .
	touch $@

.venv/.ready: .venv/.core requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	touch $@

demo: .venv/.core
	$(BIN)/takeback demo

test: setup
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not model and not clients and not web"

test-web: setup
	command -v npm > /dev/null && npm install --silent --no-fund --no-audit --prefix build/axe axe-core@4.14.0 || true
	$(BIN)/python -m pytest -m web -rs tests/web

# The real clients, from npm, in .cache/clients; left out with a word where npm is missing.
test-clients: setup
	$(BIN)/python -m tests.clients.install claude-code codex
	$(BIN)/python -m pytest -m clients tests/clients/test_claude_code.py tests/clients/test_codex.py

test-clients-more: setup
	$(BIN)/python -m tests.clients.install claude-code opencode gemini
	$(BIN)/python -m pytest -m clients tests/clients/test_opencode.py tests/clients/test_gemini.py \
		tests/clients/test_guard_and_recorder.py

check: setup
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

bench: setup
	$(BIN)/takeback bench roundtrip
	$(BIN)/takeback bench proof
	$(BIN)/takeback bench undo
	$(BIN)/takeback bench edits
	$(BIN)/takeback bench hook

mutants: setup
	nice -n 10 $(BIN)/python -m tests.mutants $(MUTANTS)

docs: setup
	$(BIN)/python -m tests.support.reference
	$(BIN)/python -m tests.support.doc_blocks
	$(BIN)/python -m tests.support.tour

format: setup
	$(BIN)/ruff check --fix src tests examples
	$(BIN)/ruff format src tests examples

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache
