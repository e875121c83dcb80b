# Short names for what one does every day; the presets of CMakePresets.json hold the details.

JOBS ?= $(shell nproc)
# Most tests wait more than they compute: for processes, for deadlines.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
export TEST_JOBS

.PHONY: build setup demo test soak bench format tidy clean

build:
	cmake --preset release
	cmake --build --preset release

setup:
	scripts/setup

demo: setup
	$(MAKE) build
	build/bin/beeline demo

test: setup
	scripts/run-tests release asan tsan

# Every test with Clang, those labelled soak in their long form, with every neighbour of the bench;
# whole hives of threads under the thread sanitizer; every kill point, with more real kills, of a
# neighbour too; memory orders with deeper bounds; the models and their mutants; minutes of
# libFuzzer for each target; branch coverage of what reads foreign bytes.
soak:
	scripts/setup soak
	BEELINE_SOAK=1 scripts/run-tests clang tsan-all
	build-clang/bin/beeline-killpoints --long
	build-clang/bin/beeline-explore . --long
	tests/spin/run
	build-clang/bin/beeline-killpoints-boost --long
	scripts/fuzz 300
	scripts/coverage

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
	rm -rf build build-dev build-debug build-asan build-tsan build-tsan-all build-clang build-fuzz \
	  build-coverage
