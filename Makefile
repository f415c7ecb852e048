# Needs a Rust toolchain, CPython 3.11 or later and GNU make. Everything else goes into virtual environments inside this
# directory: `.venv` to work in, `.venvs/` for the wheel, the docs and other packages. Stamp files make a second run fast.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The interpreter of `.venv`; override with `make PYTHON=/path/to/python`. It is looked up only when the environment is made.
PYTHON ?= $(shell scripts/pythons.sh --main)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# For a network that is slow or busy.
export PIP_RETRIES := 10
export PIP_TIMEOUT := 60
# Makes a virtual environment. One that was left half made has no pip, so it is made again.
venv = $1/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $1
# Whatever environment is active outside, maturin works in ours.
export VIRTUAL_ENV := $(CURDIR)/.venv
# PyO3 asks an interpreter how to build; the same one every time, or cargo would build it anew.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) $(shell find src -name '*.rs')
PACKAGE_SOURCES := $(RUST_SOURCES) pyproject.toml README.md LICENSE-MIT LICENSE-APACHE \
	$(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed -o -name '*.html' -o -name '*.css' -o -name '*.js')

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1mmake %-17s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/.native ## Train a model on bundled data, explain it against its whole background, and write a report
	@.venv/bin/python -m arborshap.demo

.PHONY: develop
develop: .venv/.native ## Build the native module into .venv, which uses the Python sources in place

.PHONY: test
test: test-rust test-python test-more test-tools ## Run every test: Rust, and Python on the wheel with each CPython found

.PHONY: test-rust
test-rust: ## Run only the Rust tests, which need no Python
	cargo test --locked

.PHONY: test-python
test-python: target/wheel/.built ## Run only the Python tests, on the wheel
	scripts/browser.sh
	.venv/bin/python scripts/test_wheel.py target/wheel/*.whl

# The models of libraries whose requirements would force older versions of others.
MORE_TESTS := tests/python/models/test_others.py tests/python/models/test_other_boosters.py tests/python/models/test_onnx.py \
	tests/python/models/test_margin.py tests/python/explain/test_definition.py tests/python/explain/test_axioms.py

.PHONY: test-more
test-more: .venvs/more/.wheel ## Run only the tests of models whose libraries need an environment of their own
	.venvs/more/bin/python -m pytest --quiet $(MORE_TESTS) -k 'other or onnx'

TOOL_TESTS := $(addprefix tests/python/adapters/test_, shapash.py explainerdashboard.py mlflow.py shapiq.py tools_page.py)

.PHONY: test-tools
test-tools: .venvs/tools/.wheel ## Run only the tests of adapters whose tools need an environment of their own
	scripts/browser.sh
	MLFLOW_DISABLE_TELEMETRY=true .venvs/tools/bin/python -m pytest --quiet $(TOOL_TESTS)

# Spark and Ray are large, and Spark needs Java, so each has an environment of its own, with the wheel in it.
.PHONY: test-spark
test-spark: .venvs/spark/.wheel ## Run the Spark tests on a real Spark; on Debian, installs Java 17 if needed and allowed
	scripts/java.sh
	.venvs/spark/bin/python -m pytest --quiet tests/python/distributed/test_spark.py
	.venvs/spark/bin/python -m pytest --quiet tests/python/models/test_spark_models.py
	.venvs/spark/bin/python -m pytest --quiet tests/python/models/test_margin.py -k spark-

.PHONY: test-ray
test-ray: .venvs/ray/.wheel ## Test the recipe for Ray on a real Ray
	RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0 .venvs/ray/bin/python -m pytest --quiet tests/python/distributed/test_ray.py

# Our own tests of the adapter and of what the docs say about shap, with the newest shap; `.venv` may have an older one.
SHAP_TESTS := tests/python/adapters/test_shap.py tests/python/adapters/test_shap_claims.py tests/python/result/test_shap_plots.py

.PHONY: compat
compat: .venvs/compat/.wheel ## Run shap's own tests with our adapter in place of its explainer, list what differs and why, and check what we say of shap
	.venvs/compat/bin/python scripts/compat.py $(OPTIONS)
	.venvs/compat/bin/python -m pytest --quiet $(SHAP_TESTS)

# The header, if there is one, lets the browser render the formulas between dollar signs.
RUSTDOC_FLAGS := -D warnings $(if $(wildcard src/katex.html),--html-in-header src/katex.html)

.PHONY: lint
lint: .venv/.native ## Check formatting, lints and types, and compare the stubs with the native module
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features python -- -D warnings
	RUSTDOCFLAGS='$(RUSTDOC_FLAGS)' cargo doc --locked --no-deps
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports --no-cache
	.venv/bin/python scripts/rooms.py --check
	.venv/bin/mypy
	.venv/bin/stubtest --allowlist scripts/stubtest.allow arborshap._core

.PHONY: format
format: .venv/.ready ## Format the Rust and Python sources
	cargo fmt
	.venv/bin/ruff check --fix-only --quiet
	.venv/bin/ruff format

.PHONY: bench
bench: .venv/.native ## Run the benchmarks: first the Rust core alone, then Python side by side with other packages
	cargo bench --locked
	for bench in benches/python/bench_*.py; do .venv/bin/python "$$bench"; done

# The other packages and the wheel share an environment of their own.
PEERS := .venvs/peers/bin/python
OPTIONS ?=

.PHONY: bench-peers
bench-peers: .venvs/peers/.wheel .venvs/fasttreeshap/.tried ## Time arborshap and its peers side by side, and write the tables; OPTIONS=--quick takes a minute
	$(PEERS) benches/python/peers.py $(OPTIONS)

.PHONY: bench-large
bench-large: .venvs/peers/.wheel ## Time millions of rows against millions of background rows, and measure the memory
	$(PEERS) benches/python/large.py $(OPTIONS)

.PHONY: bench-hd
bench-hd: .venvs/peers/.wheel ## Time deep LightGBM models on 118k rows against 472k; OPTIONS="--depth 6 --scale 0.1" for less
	$(PEERS) benches/python/hd.py $(OPTIONS)

.PHONY: bench-curves
bench-curves: .venvs/peers/.wheel ## Time curves and H statistics beside woodelf and brute force; OPTIONS="--scale 0.05" for less
	$(PEERS) benches/python/curves.py $(OPTIONS)

.PHONY: bench-scaling
bench-scaling: .venvs/peers/.wheel ## Plot the time against rows, background, trees, threads, depth, leaves and features; OPTIONS=--quick for less
	$(PEERS) benches/python/scaling.py $(OPTIONS)

.PHONY: bench-orders
bench-orders: .venvs/peers/.wheel ## Compare interactions of order three with shapiq's, and Owen values with Shapley values
	$(PEERS) benches/python/orders.py $(OPTIONS)

.PHONY: bench-plans
bench-plans: .venv/.native ## Compare the estimates of plans with measured times, and the engines chosen with the fastest
	.venv/bin/python benches/python/plans.py $(OPTIONS)

.PHONY: bench-populations
bench-populations: .venv/.native ## Time the comparison of two populations of ten million rows; OPTIONS="--rows 1000000" for less
	.venv/bin/python benches/python/populations.py $(OPTIONS)

.PHONY: bench-distributed
bench-distributed: .venv/.native ## Measure the cost per row on one core and on a cluster, and write it into docs/distributed.md
	.venv/bin/python benches/python/cluster.py $(OPTIONS)

.PHONY: bench-table
bench-table: .venv/.ready ## Write the recorded results into the README and docs/performance.md
	.venv/bin/python benches/python/readme_table.py

.PHONY: service-bench
service-bench: .venv/.native ## Load-test the example service on this machine: requests per second and latencies
	.venv/bin/python examples/service/load_test.py $(OPTIONS)

.PHONY: accuracy
accuracy: .venv/.native ## Measure rounding errors against exact fractions, and write the picture and the tables of the docs
	PYTHONPATH=tests/python .venv/bin/python benches/python/accuracy.py

.PHONY: ten-million
ten-million: .venv/.native ## Explain against ten million background rows whose exact counts are known
	.venv/bin/python scripts/large_background.py

# libFuzzer through the stable compiler for the core, and through atheris for the readers in Python.
FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: .venv/.native ## Fuzz the file readers for FUZZ_SECONDS=60 each, and report what was tried and found
	.venv/bin/python -m pip install --quiet --group fuzz
	.venv/bin/python scripts/fuzz.py $(FUZZ_SECONDS)

MINUTES ?= 5

.PHONY: soak
soak: .venv/.native ## Load one process for MINUTES=5, compare every answer, and watch the memory
	.venv/bin/python scripts/soak.py --minutes $(MINUTES)

.PHONY: miri
miri: ## Test the core with every memory access checked, by Miri if installed, otherwise by a checked build and valgrind
	scripts/miri.sh $(OPTIONS)

.PHONY: sanitize
sanitize: ## Test the core under AddressSanitizer and ThreadSanitizer; needs a nightly toolchain
	scripts/sanitize.sh

.PHONY: big-endian
big-endian: ## Test the core on an emulated big-endian machine (s390x); needs the Rust target, a cross compiler and qemu
	scripts/big_endian.sh

.PHONY: audit
audit: .venv/.ready ## Compare the licences of all crates with a list; needs no network
	.venv/bin/python scripts/licences.py

.PHONY: reproducible
reproducible: .venv/.ready ## Build the wheel twice, in two places, and compare the bytes
	scripts/reproducible.sh

.PHONY: gallery
gallery: .venv/.native ## Draw the pictures of the docs, and run the notebooks in examples/
	.venv/bin/python scripts/gallery.py
	.venv/bin/python scripts/notebooks.py

.PHONY: tool-pictures
tool-pictures: .venvs/tools/.wheel ## Draw or photograph what shap, shapash, explainerdashboard and MLflow show, for the pages about them
	scripts/browser.sh
	MLFLOW_DISABLE_TELEMETRY=true .venvs/tools/bin/python scripts/tool_pictures.py

.PHONY: docs
docs: .venv/.native .venvs/docs/.ready ## Build the documentation site into target/site; a broken link or reference is an error
	RUSTDOCFLAGS='$(RUSTDOC_FLAGS)' cargo doc --locked --no-deps
	rm -rf target/site
	PYTHONPATH=python .venvs/docs/bin/python scripts/site.py target/site-source
	PYTHONPATH=python .venvs/docs/bin/python -m sphinx -q -E -W --keep-going target/site-source target/site
	cp -r target/doc target/site/rust
	test -f target/site/rust/arborshap/index.html
	@echo "open target/site/index.html"

.PHONY: wheel
wheel: .venv/.ready ## Build the release wheel and sdist into dist/, check them, and test the wheel in empty environments
	.venv/bin/python -m pip install --quiet --group wheel
	rm -rf dist
	PATH="$(CURDIR)/.venv/bin:$$PATH" maturin build --sdist --locked --release --out dist $(RELEASE_FLAGS)
	.venv/bin/python scripts/check_wheel.py dist/*.whl dist/*.tar.gz

# On Linux the wheel must also run on older systems, so zig links against the glibc of manylinux2014.
RELEASE_FLAGS := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)

.PHONY: clean
clean: ## Remove everything that make has built
	rm -rf target dist .venv .venvs .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests benches scripts -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/arborshap/_core.*.so python/arborshap/_core.*.pyd

.venv/.ready: pyproject.toml
	$(call venv,.venv)
	.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv/bin/python -m pip install --quiet --group dev
	touch $@

.venv/.native: .venv/.ready $(RUST_SOURCES)
	.venv/bin/maturin develop --locked --release --quiet
	touch $@

target/wheel/.built: .venv/.ready $(PACKAGE_SOURCES)
	rm -rf target/wheel
	.venv/bin/maturin build --locked --release --quiet --out target/wheel
	touch $@

# The newest interpreter has the newest peers.
.venvs/peers/.ready: benches/python/peers.txt
	"$$(scripts/pythons.sh --newest)" -m venv --clear .venvs/peers
	$(PEERS) -m pip install --quiet --requirement $<
	touch $@

.venvs/peers/.wheel: .venvs/peers/.ready target/wheel/.built
	$(PEERS) -m pip install --quiet --force-reinstall --no-deps target/wheel/*.whl
	touch $@

# The newest interpreter gets the newest shap.
.venvs/compat/.ready: PYTHON = $(shell scripts/pythons.sh | tail -n 1 | cut -d ' ' -f 2-)

.venvs/docs/.ready .venvs/more/.ready .venvs/spark/.ready .venvs/ray/.ready .venvs/compat/.ready: .venvs/%/.ready: pyproject.toml
	$(call venv,.venvs/$*)
	.venvs/$*/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venvs/$*/bin/python -m pip install --quiet --group $*
	touch $@

# It uses what is installed in `.venv`, and installs only what is missing there.
.venvs/tools/.ready: pyproject.toml .venv/.ready
	.venvs/tools/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m venv --clear .venvs/tools
	.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$(.venvs/tools/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	.venvs/tools/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venvs/tools/bin/python -m pip install --quiet --group tools
	touch $@

.venvs/more/.wheel .venvs/tools/.wheel .venvs/spark/.wheel .venvs/ray/.wheel .venvs/compat/.wheel: .venvs/%/.wheel: .venvs/%/.ready target/wheel/.built
	.venvs/$*/bin/python -m pip install --quiet --force-reinstall --no-deps target/wheel/*.whl
	touch $@

# The oldest interpreter is the likeliest to build it. If it does not build, the table says so.
.venvs/fasttreeshap/.tried: benches/python/fasttreeshap.txt
	"$$(scripts/pythons.sh --oldest)" -m venv --clear .venvs/fasttreeshap
	.venvs/fasttreeshap/bin/python -m pip install --quiet --requirement $< \
		&& .venvs/fasttreeshap/bin/python -m pip install --quiet --no-build-isolation fasttreeshap==0.1.6 \
		|| echo "fasttreeshap does not build for this Python, so it is left out"
	touch $@
