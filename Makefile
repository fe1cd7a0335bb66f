# make run    try it: a collector (on PORT, 8080 without it) and the daemon, on files in .run
# make test   everything that CI runs
# make        build for use; then, as root, make install; or make deb, a Debian package, in .run/deb
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := all
.PHONY: all build run test test-trixie simulate planted nightly fuzz bench man install uninstall deb clean format lint
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr
DESTDIR ?=
UNIT_DIR ?= $(PREFIX)/lib/systemd/system
VERSION := $(shell sed -n 's/.*text = "\(.*\)"/\1/p' Sources/Version/Version.swift)
PYTHON ?= /usr/bin/python3
# Swift's runtime is linked in: what is installed needs no Swift. lld keeps half a megabyte of relocations in a few KB.
# Colours are a flag of the compiler, so that on a terminal everything would be built anew.
RELEASE := -c release --static-swift-stdlib --no-color-diagnostics -Xswiftc -use-ld=lld -Xlinker --gc-sections \
    -Xlinker -z -Xlinker pack-relative-relocs
# The toolchain's program that prints where a process trapped; without it a trap leaves no trace.
BACKTRACE ?= $(dir $(realpath $(shell command -v swift)))../libexec/swift/linux/swift-backtrace-static
# Under sudo there may be no Swift; what was built is still there.
BIN_DIR ?= $(or $(shell swift build $(RELEASE) --show-bin-path 2>/dev/null),$(CURDIR)/.build/release)

all: build

build:
	@.ci/packages build
	swift build $(RELEASE)
	[[ ! -f "$(BACKTRACE)" ]] || install -m 755 "$(BACKTRACE)" "$(BIN_DIR)/swift-backtrace"

run: build
	@.ci/packages run
	exec Config/try-out.sh "$(BIN_DIR)"

lint:
	@swift format lint --strict --recursive Package.swift Sources Tests
	.ci/units
	# The faults that are planted at night fit the code.
	for fault in Tests/Planted/*.patch; do
	    patch --dry-run --quiet --strip=1 --fuzz=0 < "$$fault" || { echo "$$fault does not apply" >&2; exit 1; }
	done

format:
	@swift format --in-place --recursive Package.swift Sources Tests

# As root nothing is left out: a test that is skipped fails the run. Seeds are the same whatever order dictionaries have.
test simulate planted: export SWIFT_DETERMINISTIC_HASHING := 1
test:
	@.ci/packages build test
	$(MAKE) lint
	mkdir -p .run
	swift build --build-tests
	swift test --skip-build 2>&1 | tee .run/swift-test.log
	# Every length of a cut tail, and hundreds of flipped bytes.
	UPLINKD_THOROUGH_TESTS=1 swift test --skip-build --filter DamageTests 2>&1 | tee -a .run/swift-test.log
	swift build $(RELEASE)
	"$(BIN_DIR)/queue-simulation" model 0 $$(($(SEEDS) / 10))
	"$(BIN_DIR)/queue-simulation" unsynced 0 $$(($(SEEDS) / 100))
	# Where no damage excuses anything, and with all that can happen to a disk.
	UPLINKD_WITHOUT=$(DAMAGE) "$(BIN_DIR)/queue-simulation" real 0 $$(($(SEEDS) / 10))
	"$(BIN_DIR)/queue-simulation" real 0 $(SEEDS)
	if [[ -d Tests/Integration ]]; then
	    UPLINKD_BIN_DIR="$(BIN_DIR)" $(PYTHON) -m pytest -rs Tests/Integration 2>&1 | tee .run/pytest.log
	fi
	.ci/skipped .run/swift-test.log .run/pytest.log

# Lives of the queue on a disk that fails, each of 300 operations and at least 5 crashes, on both cores: those behind
# the ones that `make test` has.
SEEDS ?= 20000
DAMAGE := flippedByte,unreadableSector,lostWrite,misdirectedWrite,damagedCursors
simulate:
	swift build $(RELEASE) --product queue-simulation
	"$(BIN_DIR)/queue-simulation" real $(SEEDS) $(SEEDS)

# Faults that must be found: in the queue itself, one after the other.
planted:
	Tests/Planted/run

# More seeds and rounds than there is time for at each change.
nightly: export UPLINKD_MODEL_SEEDS ?= 3000
nightly: export UPLINKD_SIM_SEEDS ?= 2000
nightly: export UPLINKD_THOROUGH_TESTS ?= 1
nightly: export UPLINKD_KILLS ?= 200
nightly: export UPLINKD_CUTS ?= 50
nightly: export UPLINKD_OUTAGES ?= 500
nightly: export UPLINKD_IDLE_SECONDS ?= 120
nightly: export UPLINKD_DAMAGE_STEP ?= 1
nightly: export UPLINKD_FULL_SECONDS ?= 60
nightly: export UPLINKD_FAILING_SECONDS ?= 60
nightly: export UPLINKD_DISK_ERRORS ?= all
nightly: export UPLINKD_FREEZE_SECONDS ?= 60
nightly: export UPLINKD_THROTTLED_SECONDS ?= 60
nightly: export UPLINKD_FLIPS ?= 2000
nightly: export UPLINKD_SIDE_STARTS ?= 30
nightly: export UPLINKD_CLOCK_STEPS ?= all
nightly: export UPLINKD_BLOCK_WRITES ?= 3
nightly: export UPLINKD_BACKLOG_READY_MS ?= 200
nightly: export UPLINKD_BACKLOG_DRAIN ?= 1
nightly: export UPLINKD_BACKLOG_MB ?= 4096
nightly: export UPLINKD_LARGE_MB ?= 3000
nightly: export UPLINKD_EXPORT_MB ?= 4000
nightly: export UPLINKD_UNPLUGGED_SECONDS ?= 60
nightly: export UPLINKD_STARTS ?= 100
nightly: export UPLINKD_EVERY_STATUS ?= 1
nightly: export UPLINKD_DEAD_SECONDS ?= 600
nightly: test test-trixie simulate planted fuzz bench

# The package and the units under the systemd of Debian 13.
test-trixie: export UPLINKD_BIN_DIR = $(BIN_DIR)
test-trixie:
	cd Tests/Integration
	UPLINKD_BARE_SUITE=trixie $(PYTHON) -m pytest -rs test_package.py
	UPLINKD_BOX_ROOT=$(CURDIR)/.run/debian-trixie $(PYTHON) -m pytest -rs test_systemd.py test_units.py test_watchdog.py

# Every parser with so many inputs of any bytes, from the corpus on, as long as they need to be for all that it does;
# what is found stays in .run.
FUZZ_RUNS ?= 10000000
FUZZ_TARGETS ?= $(notdir $(wildcard Tests/Fuzzers/Corpus/*))
FUZZ := -c release --sanitize address --sanitize fuzzer --scratch-path .build/fuzz -Xswiftc -enable-testing \
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp
fuzz: export UPLINKD_FUZZ := 1
# Where memory was taken costs more than all else; a finding is run again with it.
fuzz: export ASAN_OPTIONS := symbolize=0:malloc_context_size=0
fuzz:
	@.ci/packages build
	swift build $(FUZZ) --product Fuzzers
	for target in $(FUZZ_TARGETS); do
	    mkdir -p .run/fuzz-$$target
	    case $$target in segment|batch|cursors) bytes=4097;; configuration|arguments) bytes=161;; *) bytes=1025;; esac
	    UPLINKD_FUZZ_TARGET=$$target .build/fuzz/release/Fuzzers -runs=$(FUZZ_RUNS) -max_len=$$bytes -timeout=10 \
	        -artifact_prefix=.run/fuzz-$$target- .run/fuzz-$$target Tests/Fuzzers/Corpus/$$target \
	        > .run/fuzz-$$target.log 2>&1 < /dev/null || { tail -n 40 .run/fuzz-$$target.log; exit 1; }
	    echo "$$target: $$(tail -n 1 .run/fuzz-$$target.log)"
	done

# The manual pages and messages.md, to read without installing.
man: build
	@Documentation/man/generate .run/man "$(BIN_DIR)" "$(VERSION)"
	ls .run/man/*

bench:
	@.ci/packages build bench
	swift build $(RELEASE)
	$(PYTHON) Benchmarks/bench.py --bin "$(BIN_DIR)"

install:
	@bin="$(BIN_DIR)"
	for program in uplinkd uplinkctl; do
	    [[ -x "$$bin/$$program" ]] || { echo "$$bin/$$program is missing: run make first" >&2; exit 1; }
	done
	to="$(DESTDIR)$(PREFIX)"
	etc="$(DESTDIR)/etc/uplinkd"
	install -D -m 755 "$$bin/uplinkd" "$$to/sbin/uplinkd"
	install -D -m 755 "$$bin/uplinkctl" "$$to/bin/uplinkctl"
	for backtrace in "$$bin/swift-backtrace" "$(BACKTRACE)"; do
	    [[ ! -f "$$backtrace" ]] || { install -D -m 755 "$$backtrace" "$$to/libexec/uplinkd/swift-backtrace"; break; }
	done
	units="$(DESTDIR)$(UNIT_DIR)"
	install -d "$$units" "$$etc/uplinkd.conf.d"
	for unit in uplinkd.service uplinkd-events.socket uplinkd-control.socket; do
	    sed -E 's,(=|file:)/usr/(s?bin|libexec|share)/,\1$(PREFIX)/\2/,' "systemd/$$unit" > "$$units/$$unit"
	    chmod 644 "$$units/$$unit"
	done
	install -D -m 644 systemd/uplinkd.sysusers "$$to/lib/sysusers.d/uplinkd.conf"
	install -D -m 644 systemd/uplinkd.tmpfiles "$$to/lib/tmpfiles.d/uplinkd.conf"
	install -d "$$to/lib/systemd/catalog"
	sed 's,file:/usr/,file:$(PREFIX)/,' systemd/uplinkd.catalog > "$$to/lib/systemd/catalog/uplinkd.catalog"
	chmod 644 "$$to/lib/systemd/catalog/uplinkd.catalog"
	install -D -m 644 -t "$$to/share/doc/uplinkd" README.md Documentation/*.md
	install -D -m 644 -t "$$to/share/doc/uplinkd/examples" Config/uplinkd.conf Config/examples/*.conf
	for unit in uplinkd.service uplinkd-events.socket; do
	    install -D -m 644 -t "$$to/share/doc/uplinkd/examples/$$unit.d" "systemd/examples/$$unit.d"/*.conf
	done
	pages=$$(mktemp -d)
	Documentation/man/generate "$$pages" "$$bin" "$(VERSION)"
	for page in "$$pages"/*.[1-8]; do
	    install -D -m 644 -t "$$to/share/man/man$${page##*.}" "$$page"
	done
	install -m 644 -t "$$to/share/doc/uplinkd" "$$pages/messages.md"
	rm -r "$$pages"
	install -D -m 644 Config/completions/uplinkctl.bash "$$to/share/bash-completion/completions/uplinkctl"
	install -D -m 644 Config/completions/uplinkctl.zsh "$$to/share/zsh/vendor-completions/_uplinkctl"
	if [[ -e "$$etc/uplinkd.conf" ]]; then
	    echo "$$etc/uplinkd.conf is kept; the new default is in $$to/share/doc/uplinkd/examples"
	else
	    install -m 644 Config/uplinkd.conf "$$etc/uplinkd.conf"
	fi
	if [[ -z "$(DESTDIR)" ]]; then
	    echo "Now: systemd-sysusers && systemd-tmpfiles --create && journalctl --update-catalog"
	    echo "     systemctl daemon-reload && systemctl enable --now uplinkd-events.socket uplinkd-control.socket uplinkd"
	fi

# The configuration, the queue and the groups stay.
uninstall:
	@to="$(DESTDIR)$(PREFIX)"
	rm -f "$$to/sbin/uplinkd" "$$to/bin/uplinkctl" "$$to/lib/systemd/catalog/uplinkd.catalog"
	rm -f "$$to/lib/sysusers.d/uplinkd.conf" "$$to/lib/tmpfiles.d/uplinkd.conf"
	for unit in uplinkd.service uplinkd-events.socket uplinkd-control.socket; do
	    rm -f "$(DESTDIR)$(UNIT_DIR)/$$unit"
	done
	rm -f "$$to/share/bash-completion/completions/uplinkctl" "$$to/share/zsh/vendor-completions/_uplinkctl"
	rm -f "$$to"/share/man/man?/uplinkd* "$$to/share/man/man1/uplinkctl.1"
	rm -rf "$$to/share/doc/uplinkd" "$$to/libexec/uplinkd"
	echo "Kept: $(DESTDIR)/etc/uplinkd, and the queue ($(DESTDIR)/var/lib/uplinkd)"

# From the programs that are there, where BIN_DIR is given; in a folder of its own, so that the checkout stays clean.
deb: $(if $(filter command environment,$(origin BIN_DIR)),,build)
	@.ci/packages deb
	stated=$$(dpkg-parsechangelog -S Version)
	[[ $$stated == "$(VERSION)" ]] || { echo "debian/changelog has $$stated, the program $(VERSION)" >&2; exit 1; }
	to="$(CURDIR)/.run/deb/uplinkd-$(VERSION)"
	rm -rf "$$to"
	mkdir -p "$$to"
	cp -a --parents Makefile README.md Config Documentation Sources/Version debian systemd "$$to"
	cd "$$to"
	BIN_DIR="$(abspath $(BIN_DIR))" dpkg-buildpackage --no-sign --build=binary
	cd ..
	lintian --allow-root --fail-on error,warning uplinkd_*.changes
	echo "$$PWD/$$(echo uplinkd_*.deb)"

clean:
	@swift package clean
	rm -rf .run
