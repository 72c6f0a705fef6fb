# The project's words. CI uses the same ones. Nothing but Python 3.11 or newer has to be installed:
# the first command makes the environments from the lock files.

SHELL := /bin/bash
# The last line of `make token` is the token, also when a test or a script under make asks for it.
MAKEFLAGS += --no-print-directory
PYTHON ?= python3
BOOTSTRAP := $(PYTHON) infra/local/bootstrap.py
EXEC := $(BOOTSTRAP) exec --
EXEC_STACK := $(BOOTSTRAP) exec --need engine --need node --

# Words for pytest (make test ARGS="tests/unit -k append -x"). With them pytest runs in one process, unless they say -n.
ARGS ?=
PARALLEL := $(if $(strip $(ARGS)),,-n 2 --dist loadgroup)

# A value as one word of the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'

# A login shell sets USER; only `make token USER=bob` means it.
TOKEN_TENANT := $(if $(filter command line,$(origin TENANT)),--tenant $(call quoted,$(TENANT)))
TOKEN_USER := $(if $(filter command line,$(origin USER)),--user $(call quoted,$(USER)))

# Settings of a deployment, for make synth, deploy and destroy (docs/deploy.md).
CONTEXT ?=
CONTEXT_WORDS := $(foreach setting,$(CONTEXT),-c $(call quoted,$(setting)))
YES_WORD := $(if $(YES),--yes)

.DEFAULT_GOAL := help
.PHONY: help run token test fuzz lint format bench synth bootstrap deploy destroy redrive openapi lock pr clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the whole stack on this machine; FRESH=1 forgets the sessions of earlier runs
	@$(BOOTSTRAP) run

token: ## print another development token: TENANT=acme USER=bob
	@$(BOOTSTRAP) token $(TOKEN_TENANT) $(TOKEN_USER)

test: ## run every test; ARGS="…" passes words to pytest
	@$(EXEC_STACK) python -m pytest $(PARALLEL) $(ARGS)

fuzz: ## try the API of a stack of its own with requests that nobody would send: EXAMPLES=400 TIME=900 SEED=7
	@$(EXEC_STACK) python -m tests.fuzz

lint: ## check style, types, import contracts, lock files, the OpenAPI document and the API reference
	@$(EXEC) ruff check .
	@$(EXEC) ruff format --check .
	@$(EXEC) mypy
	@$(EXEC) lint-imports --no-cache
	@$(EXEC) python .ci/locks.py check
	@$(EXEC) python .ci/unasync.py check
	@$(EXEC) python -m session_api.openapi | cmp - docs/openapi.json || { echo "run make openapi"; exit 1; }
	@$(EXEC) python .ci/reference.py check

format: ## lay the code out, apply safe fixes, and write the synchronous client from the asynchronous one
	@$(EXEC) ruff check --fix-only .
	@$(EXEC) ruff format .
	@$(EXEC) python .ci/unasync.py write

bench: ## measure requests, units and bytes against the targets
	@$(EXEC_STACK) python -m tests.benchmarks

synth: ## write the checked CloudFormation templates of both stages to cdk.out/
	@$(BOOTSTRAP) synth -- $(CONTEXT_WORDS)

bootstrap: ## prepare an AWS account and region for the CDK, once: ENVIRONMENT=aws://ACCOUNT/REGION
	@$(BOOTSTRAP) bootstrap -- $(call quoted,$(ENVIRONMENT))

deploy: ## deploy into the AWS account of your shell: ISSUER=https://… AUDIENCE=… CONTEXT="name=value …"
	@$(BOOTSTRAP) deploy -- --issuer $(call quoted,$(ISSUER)) --audience $(call quoted,$(AUDIENCE)) $(YES_WORD) $(CONTEXT_WORDS)

destroy: ## remove it from the account again; table, bucket and key stay
	@$(BOOTSTRAP) destroy -- $(YES_WORD) $(CONTEXT_WORDS)

redrive: ## give stream records that were given up another try: QUEUE=https://… FUNCTION=… (ENDPOINT=http://127.0.0.1:8787)
	@$(EXEC) python -m infra.redrive --queue $(call quoted,$(QUEUE)) --function $(call quoted,$(FUNCTION))

openapi: ## write the OpenAPI document and the API reference from the models and routes
	@$(EXEC) python -m session_api.openapi --write
	@$(EXEC) python .ci/reference.py write

lock: ## resolve the dependencies anew and write the lock files
	@$(EXEC) python .ci/locks.py write

pr: lint test fuzz bench ## everything that a pull request has to pass

clean: ## remove what make made, except the sessions of `make run`
	rm -rf .venv .turnlog/engine cdk.out dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
