# What is done often, by one word each. `just` alone lists them; `pip install -e ".[dev]"` brings the program.

# List what there is.
default:
    @just --list --unsorted

# Make this checkout ready to work in: the package, its tools, and the hooks of git.
setup:
    pip install -e ".[dev]"
    pre-commit install

# The tests that answer in 45 seconds: the rules, the structure, and the main verbs on a real server.
quick *arguments:
    python -m pytest -n 2 --dist loadfile tests/test_house.py tests/test_public_names.py tests/rules \
        --ignore tests/rules/test_conversation_trees.py --ignore tests/rules/test_working_model.py --ignore tests/rules/test_letter_case.py \
        tests/verbs/test_remember.py tests/verbs/test_recall.py tests/verbs/test_working.py tests/verbs/test_forgetting.py \
        tests/langchain/test_messages.py tests/langchain/test_window.py tests/llamaindex/test_messages.py \
        tests/llamaindex/test_window.py {{ arguments }}

# All tests, on all cores.
test *arguments:
    python -m pytest {{ arguments }}

# All tests on the servers that can be had as well: PostgreSQL 15 and 18, PgBouncer.
test-servers *arguments:
    bash .ci/servers
    HTM_TEST_SERVERS="${HTM_TEST_SERVERS:-$(if [ "$(id -u)" = 0 ]; then echo /var/cache; else echo "${XDG_CACHE_HOME:-$HOME/.cache}"; fi)/htm-memory-servers}" python -m pytest {{ arguments }}

# The whole suites on a Citus cluster of three nodes, for each of two processes one; needs Citus (CONTRIBUTING.md says how).
test-citus *arguments:
    bash .ci/servers
    HTM_TEST_MATRIX=whole HTM_TEST_SERVERS="${HTM_TEST_SERVERS:-$(if [ "$(id -u)" = 0 ]; then echo /var/cache; else echo "${XDG_CACHE_HOME:-$HOME/.cache}"; fi)/htm-memory-servers}" \
        python -m pytest -n 2 tests/servers/test_matrix.py tests/servers/test_citus.py tests/servers/test_citus_cells.py tests/servers/test_citus_path.py -k citus {{ arguments }}

# Install the packages that people move in from, in an environment of their own, and move in what they fill.
test-peers *arguments:
    bash .ci/peers --required
    python -m pytest tests/importers/test_installed_peers.py {{ arguments }}

# Talk to a model that runs: at $HTM_TEST_OLLAMA, or started by `serve` in $HTM_TEST_MODELS (CONTRIBUTING.md says how).
test-model *arguments:
    bash .ci/model {{ arguments }}

# Check the style, and put the code in form.
lint:
    ruff check --fix .
    ruff format .

# Check the types.
types:
    mypy

# Measure how long the verbs take.
bench *arguments:
    python -m benchmarks.latency {{ arguments }}

# Run what the pages and notebooks show.
docs:
    python -m pytest tests/docs

# Run the notebooks that ask a model with one of Ollama, and keep its answers: `just notebooks qwen3:4b`.
notebooks model:
    OLLAMA_MODEL={{ model }} python -m tests.docs.notebooks notebooks/01_*.ipynb notebooks/02_*.ipynb notebooks/03_*.ipynb

# Build the docs as a site into build/docs-site, strictly, and check its links and what its pages load.
docs-site:
    NO_MKDOCS_2_WARNING=1 python -m mkdocs build --strict
    python -m docs_site.check build/docs-site

# Show the site at http://127.0.0.1:8000, built again whenever a page changes.
docs-serve:
    NO_MKDOCS_2_WARNING=1 python -m mkdocs serve

# Keep the site of a version on the local branch `docs-site`, beside those of others: `just docs-version 0.1 latest`.
docs-version version *aliases:
    NO_MKDOCS_2_WARNING=1 DOCS_VERSIONS=mike mike deploy --branch docs-site --update-aliases {{ version }} {{ aliases }}
    mike set-default --branch docs-site --allow-undefined latest

# Lint the Dockerfile and build the image, where hadolint and a Docker daemon are there.
image:
    bash .ci/image

# What is run before a change is taken.
ci:
    bash .ci/run

# Build the wheels of all distributions, check them, install them, and run the README's first command.
build-check *arguments:
    bash .ci/build-check {{ arguments }}

# The same in an empty environment of each supported Python that is installed here.
test-pythons *arguments:
    bash .ci/test-pythons {{ arguments }}

# Release a version: `just release 0.2.0 --dry-run` does all of it and changes nothing.
release version *arguments:
    python -m release {{ version }} {{ arguments }}
