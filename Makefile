# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# One more than the cores we count on: tests that start processes wait for them much of the time.
JOBS ?= 3
# How many mutants of each package `make mutants` tries, drawn by a fixed seed; all: every one, which takes hours.
MUTANTS ?= 25

# Tests start hundreds of processes, which compile what they import again where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo demo-external test test-long test-slow test-governance test-web test-clients test-clients-more test-load test-dspy test-external check results ship bench mutants docs site pictures plugin theorem oracle format clean

setup: .venv/.ready

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Compiled once, as pip compiles an installed wheel: starts are slow without.
.venv/.core: requirements/core.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -r requirements/core.txt
	$(PIP) --no-deps --editable .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/.ready: .venv/.core requirements/dev.txt lab/pyproject.toml
	$(PIP) -r requirements/dev.txt
	$(PIP) --no-deps --editable lab
	$(BIN)/python -m compileall -q lab/src
	touch $@

demo: .venv/.core
	$(BIN)/takeback demo

# An agent with a memory database and a prompt registry, all of it in this process; another one keeps writing.
demo-external: setup
	$(BIN)/python examples/memory_and_registry.py

test: setup
	$(BIN)/python -m pytest -n $(JOBS) -m "not long and not slow and not model and not clients and not web and not external"

# What each takes many seconds: replays of whole recordings, kills at every boundary. CI runs them too.
test-long: setup
	$(BIN)/python -m pytest -n $(JOBS) -m long

# What each takes minutes: the same laws on more cases, Ray, thousands of kills.
test-slow: setup
	$(BIN)/python -m pytest -m slow

# Roles, audit, retention, compaction, capture, subjects, heads, witness, bundles and 77 kinds of tampering; forgetting in
# any order; journals from elsewhere; on SQLite and PostgreSQL, with real roles of the server.
test-governance: setup
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" tests/unit/govern tests/laws/test_forget_in_any_order.py \
		tests/unit/journal/test_forgetting.py tests/conformance/test_journal_stores.py tests/security/test_hostile_clone.py \
		tests/security/test_journal_of_a_pull.py tests/interfaces/test_no_command_prints_a_secret.py

test-web: setup
	command -v npm > /dev/null && npm install --silent --no-fund --no-audit --prefix build/axe axe-core@4.14.0 || true
	$(BIN)/python -m pytest -m web -rs tests/web

# The real clients, from npm, in .cache/clients; left out with a word where npm is missing.
test-clients: setup
	$(BIN)/python -m tests.clients.install claude-code codex
	$(BIN)/python -m pytest -m clients tests/clients/test_claude_code.py tests/clients/test_codex.py \
		tests/clients/test_plugin.py tests/clients/test_screen_claude_code.py \
		tests/clients/test_guard_claude_code.py tests/clients/test_guard_codex.py \
		tests/clients/test_tracked_claude_code.py tests/clients/test_tracked_codex.py

test-clients-more: setup
	$(BIN)/python -m tests.clients.install claude-code codex opencode gemini copilot qwen cline kilo
	$(BIN)/python -m pytest -m clients tests/clients/test_opencode.py tests/clients/test_gemini.py \
		tests/clients/test_copilot.py tests/clients/test_qwen.py tests/clients/test_cline.py tests/clients/test_kilo.py \
		tests/clients/test_plugin.py tests/clients/test_guard_gemini.py tests/clients/test_validators.py

# A thousand edits in a minute by another process, while `takeback watch` follows.
test-load: setup
	$(BIN)/takeback bench watch

# DSPy wants an older openai than other packages of the tests, and much else: it has an environment of its own.
test-dspy:
	test -x .cache/dspy/bin/python || $(PYTHON) -m venv .cache/dspy
	.cache/dspy/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/dspy.txt
	PYTHONPATH=src:lab/src .cache/dspy/bin/python -m pytest --noconftest -rs -k dspy tests/unit/agents/gates/test_evolvers_page.py

# Bindings on PostgreSQL, SQLite, etcd, Redis, Radicale and Kinto, installed into .cache/servers; left out with a word where
# they cannot be had.
test-external: setup
	$(BIN)/python -m tests.external.install
	$(BIN)/python -m pytest -m external -rs tests/external

check: setup
	$(BIN)/ruff check src lab tests examples
	$(BIN)/ruff format --check src lab tests examples
	$(BIN)/mypy

# What needs no model is run anew, and recorded runs are locked under today's sources; a run that is stopped goes on.
results: setup
	$(BIN)/takeback lab all --out results/model-free
	$(BIN)/takeback lab relock results/v4
	$(MAKE) ship

# Frozen recordings of results/v4 become those that come with the lab and that plain `replay` means.
SHIPPED := lab/src/takeback_lab/recorded
ship: setup
	set -e; for run in results/v4/recorded/*; do \
	  if [ -e $$run/bank.json ] || [ -e $$run/ran.json ]; then \
	    $(BIN)/takeback lab pack $$run; to=$(SHIPPED)/$$(basename $$run); mkdir -p $$to; \
	    for file in bank.json ran.json lock.json recording.jsonl.gz; do \
	      if [ -e $$run/$$file ]; then cp $$run/$$file $$to/; fi; \
	    done; \
	  fi; \
	done

bench: setup
	$(BIN)/takeback bench roundtrip
	$(BIN)/takeback bench proof
	$(BIN)/takeback bench undo
	$(BIN)/takeback bench edits
	$(BIN)/takeback bench hook
	$(BIN)/takeback bench start

mutants: setup
	nice -n 10 $(BIN)/python -m tests.mutants $(MUTANTS)

docs: setup
	$(BIN)/python -m tests.support.reference
	$(BIN)/python -m tests.support.doc_blocks
	$(BIN)/python -m tests.support.tour
	$(BIN)/python -m tests.support.worked_examples

# The argument of docs/proof.md in Coq, compiled in build/theorem; left out with a word where Coq is missing.
theorem:
	$(PYTHON) theorem/build.py theorem

# Its decision procedures as programs, which test-long compares with the prover.
oracle:
	$(PYTHON) theorem/build.py oracle

# The documentation as a site in build/site, with every link checked. The tools have an environment of their own.
site: .cache/site/.ready
	NO_MKDOCS_2_WARNING=1 .cache/site/bin/python -m mkdocs build --strict

.cache/site/.ready: requirements/site.txt
	test -x .cache/site/bin/python || $(PYTHON) -m venv .cache/site
	.cache/site/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/site.txt
	touch $@

# The pictures in the documentation, taken by Chromium.
pictures: setup
	TAKEBACK_PICTURES=1 $(BIN)/python -m pytest -m web -rs tests/web/test_pictures.py

# The folder that clients install, made anew from what `takeback install` adds.
plugin: setup
	$(BIN)/python -m tests.support.plugin_folder

format: setup
	$(BIN)/ruff check --fix src lab tests examples
	$(BIN)/ruff format src lab tests examples

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache
