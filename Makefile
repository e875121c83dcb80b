# Short names for daily work; the presets of CMakePresets.json hold the details.

JOBS ?= $(shell nproc)
# Most tests wait more than they compute: for processes, for deadlines.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
export TEST_JOBS

.PHONY: build setup demo quick test soak bench format tidy clean

build:
	cmake --preset release
	cmake --build --preset release

setup:
	scripts/setup

# Only the programs that the demo runs: an eighth of the build.
demo: setup
	cmake --preset release
	cmake --build --preset release --target beeline-demo
	build/bin/beeline demo

# The unit tests of one folder, such as LAYER=receive, or of all, and the style test: seconds after
# an edit.
quick:
	scripts/quick $(LAYER)

test: setup
	scripts/run-tests release asan tsan

# The long forms of all proofs: every test with Clang, whole hives of processes under the address
# sanitizer and of threads under the thread sanitizer, every kill point, memory orders, models and
# their mutants, a neighbour, minutes of libFuzzer for each target, branch coverage. scripts/soak
# STEP... runs some of them.
soak:
	scripts/soak

# Every measurement and a page of them in build/bench-results, within ten minutes.
bench:
	scripts/setup bench
	cmake --preset release
	cmake --build --preset release --target beelined beeline-bench
	scripts/bench build

format:
	scripts/format

# On the Clang build: its compile commands hold no option that clang-tidy does not know.
tidy: setup
	cmake --preset clang
	run-clang-tidy-14 -quiet -j $(JOBS) -p build-clang

clean:
	rm -rf build build-dev build-quick build-debug build-asan build-asan-all build-tsan \
	  build-tsan-all build-clang build-fuzz build-coverage build-python
