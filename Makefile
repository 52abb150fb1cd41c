# make test     everything that has to hold before a change is finished; on a fresh Debian 12 or 13 with a
#               Rust toolchain it fetches what it needs with apt-get (through sudo when not root)
# make check    the part of it that needs no root: format, lints, unit and golden tests
# make schemas  exported manifests against the strict schemas of Kubernetes 1.25 to the newest, with kubernetes-validate
#               from PyPI; `make schemas CORPUS=DIR` also exports what is imported from the corpus
# make booted   the situations on real systemds only; `make booted ARGS=257::` for some of them
# make fleet    a release over three machines by the Ansible collection; `make fleet ARGS=a_bad_release` for one situation
# make demo     a private systemd with an example group in it: what copse does, in half a minute
# make record   draws the README's picture of a session anew
# make package-test  builds the packages twice and compares, and more that takes long
# make deb      Debian packages, in target/deb
# make install  programs, units and manual pages, below DESTDIR
# make collection  the Ansible collection as a tarball for a Galaxy server, in target
# make html     the manual as web pages, in target/manual
# make fuzz     looks for a text that breaks a promise, for a minute each as a group file and as what is imported;
#               `make fuzz DURATION=3600` for longer, `FUZZED=import` for one of them
# make corpus CORPUS=DIR  imports files of other process managers that others wrote, DIR/supervisord/*.conf and
#               DIR/procfile/*.{Procfile,env}, and compares with what is known of each: *.expected.json, foreman's rules
# make bench    how long the generator takes, against `cp -r` and podman's generator; how soon a server's readiness is
#               known, against shell and s6; what plan and status of 300 processes take; and Knot Resolver as a group,
#               against its package: tables in markdown

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check

CARGO ?= cargo
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: test
test: prerequisites check booted

.PHONY: check
check: format lint minimal unit

# --- what a machine needs ---------------------------------------------------------------------------

# Only what is missing is installed, so a machine that has it all needs neither network nor sudo here.
# libc6-dev: the C library to link the programs of the booted tests statically with.
# PROGRAMS: what a single target needs beside that: packages, most with a program of the same name.
PROGRAMS :=
.PHONY: prerequisites
prerequisites:
	@command -v $(CARGO) >/dev/null || { echo "a Rust toolchain is needed: no cargo is found" >&2; exit 1; }
	@want=(); \
	command -v cc >/dev/null || want+=(gcc); \
	[ -n "$$(find /usr/lib -name libc.a -print -quit)" ] || want+=(libc6-dev); \
	command -v mount >/dev/null || want+=(mount); \
	command -v groff >/dev/null || want+=(groff-base); \
	command -v zsh >/dev/null || want+=(zsh); \
	command -v fish >/dev/null || want+=(fish); \
	command -v mmdebstrap >/dev/null || want+=(mmdebstrap); \
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || want+=(debian-archive-keyring); \
	for program in $(PROGRAMS); do \
	    command -v $$program >/dev/null || dpkg -s $$program >/dev/null 2>&1 || want+=($$program); \
	done; \
	if [ $${#want[@]} != 0 ]; then \
	    $(SUDO) apt-get -q update; \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "$${want[@]}"; \
	fi

.PHONY: schemas
schemas: PROGRAMS := python3-venv
schemas: prerequisites
	[ -x target/schemas/bin/pip ] || python3 -m venv target/schemas
	target/schemas/bin/pip install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
	$(CARGO) build --bin copse
	target/schemas/bin/python3 tests/export/schemas.py target/debug/copse tests/export/*/*.yaml \
	    $(if $(CORPUS),--corpus "$(abspath $(CORPUS))")

# The root file systems of the booted tests, one per suite; they are kept, see tests/roots.sh.
.PHONY: roots
roots: prerequisites
	tests/roots.sh

# --- without root -----------------------------------------------------------------------------------

.PHONY: format
format:
	$(CARGO) fmt --check

.PHONY: lint
lint:
	$(CARGO) clippy --all-targets -- -D warnings

# The generator and the helper have to build without the command's dependencies (no D-Bus, no async), and
# copse-supervisor without what is for terminals.
.PHONY: minimal
minimal:
	$(CARGO) build --no-default-features
	$(CARGO) clippy --no-default-features -- -D warnings
	! $(CARGO) tree --no-default-features --edges normal --prefix none | grep -E '^(zbus|tokio|clap) '
	$(CARGO) clippy --no-default-features --features supervisor -- -D warnings
	! $(CARGO) tree --no-default-features --features supervisor --edges normal --prefix none | \
	    grep -E '^(clap|anstyle|annotate-snippets|tracing) '

# All tests of Cargo.toml but those with machines.
TESTS = $(shell sed -n '/^\[\[test\]\]/,/^name/s/^name = "\(.*\)"/\1/p' Cargo.toml | grep -vx -e booted -e fleet)

.PHONY: unit
unit:
	$(CARGO) test --lib $(TESTS:%=--test %)
	$(CARGO) test --doc

# --- on real systemds -------------------------------------------------------------------------------

# Linked statically, as they have to run on the C libraries of four Debian releases. The last line printed
# is the directory they are in: tests/booted asks for it.
STATIC = $(CURDIR)/target/static/$(HOST)/booted

.PHONY: static
static:
	RUSTFLAGS="-C target-feature=+crt-static" \
	    $(CARGO) build --bins --profile booted --target $(HOST) --target-dir target/static
	@echo $(STATIC)

# cargo itself stays the user's; only the test program becomes root.
ifneq ($(SUDO),)
AS_ROOT := --config 'target."cfg(unix)".runner = ["sudo", "--preserve-env=CI,XDG_CACHE_HOME,COPSE_BIN_DIR,COPSE_KEEP,COPSE_MIRROR,COPSE_ROOTS"]'
endif

.PHONY: booted
booted: PROGRAMS := debhelper dpkg-dev
booted: static roots
	COPSE_BIN_DIR="$${COPSE_BIN_DIR:-$(STATIC)}" $(CARGO) test $(AS_ROOT) --test booted -- $(ARGS)

# One group file on many machines, with Ansible: some minutes, so `make test` does without and `make package-test` has it.
.PHONY: fleet
fleet: PROGRAMS := openssh-client
fleet: static
	tests/roots.sh fleet fleet-controller
	COPSE_BIN_DIR="$${COPSE_BIN_DIR:-$(STATIC)}" $(CARGO) test $(AS_ROOT) --test fleet -- $(ARGS)

# --- on this machine --------------------------------------------------------------------------------

# `make install DESTDIR=… PREFIX=…` is what packages call. systemd looks for units and generators below /usr and
# /usr/local, so these two are the prefixes that make sense. BUILT: the directory of the programs; CARGOFLAGS:
# more options for cargo, such as --frozen.
PREFIX ?= /usr
PROFILE ?= release
BUILT ?= $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/$(PROFILE)
CARGOFLAGS ?=

# Where systemd itself says that its parts belong, if it does; /lib is a link to /usr/lib wherever copse runs.
systemd_directory = $(or $(if $(filter /usr,$(PREFIX)),$(shell pkg-config --variable=$(1) systemd 2>/dev/null | \
    sed 's,^/lib/,/usr/lib/,')),$(PREFIX)/lib/systemd/$(2))
UNIT_DIRECTORY ?= $(call systemd_directory,systemdsystemunitdir,system)
# Debian's is vendor-completions.
ZSH_DIRECTORY ?= site-functions
USER_UNIT_DIRECTORY ?= $(call systemd_directory,systemduserunitdir,user)
GENERATOR_DIRECTORY ?= $(call systemd_directory,systemdsystemgeneratordir,system-generators)
USER_GENERATOR_DIRECTORY ?= $(call systemd_directory,systemdusergeneratordir,user-generators)

.PHONY: install
install: release
	$(MAKE) --no-print-directory install-files

.PHONY: release
release:
	COPSE_NOTIFY_PROGRAM=$(PREFIX)/bin/copse-notify $(CARGO) build --profile $(PROFILE) $(CARGOFLAGS)

# A unit of copse's own, with its programs where they are installed.
install_unit = sed 's,/usr/bin/copse,$(PREFIX)/bin/copse,' "$(1)" > "$(2)/$(notdir $(1))" && chmod 644 "$(2)/$(notdir $(1))"

.PHONY: install-files
install-files:
	install -D -t "$(DESTDIR)$(PREFIX)/bin" "$(BUILT)/copse" "$(BUILT)/copse-notify" \
	    "$(BUILT)/copse-supervisor"
	install -D -t "$(DESTDIR)$(GENERATOR_DIRECTORY)" "$(BUILT)/copse-generator"
	install -D -t "$(DESTDIR)$(USER_GENERATOR_DIRECTORY)" "$(BUILT)/copse-generator"
	install -d "$(DESTDIR)$(UNIT_DIRECTORY)" "$(DESTDIR)$(USER_UNIT_DIRECTORY)"
	install -D -m 644 packaging/sysusers.conf "$(DESTDIR)$(PREFIX)/lib/sysusers.d/copse.conf"
	$(foreach unit,$(wildcard units/*.service units/*.socket units/*.target),\
	    $(call install_unit,$(unit),$(DESTDIR)$(UNIT_DIRECTORY)) &&) true
	$(foreach unit,$(wildcard units/user/*),$(call install_unit,$(unit),$(DESTDIR)$(USER_UNIT_DIRECTORY)) &&) true
	install -d "$(DESTDIR)$(PREFIX)/share/copse"
	"$(BUILT)/copse" schema > "$(DESTDIR)$(PREFIX)/share/copse/copse.schema.json"
	install -d "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" \
	    "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d" "$(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_DIRECTORY)"
	"$(BUILT)/copse" completions bash > "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/copse"
	"$(BUILT)/copse" completions fish > "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/copse.fish"
	"$(BUILT)/copse" completions zsh > "$(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_DIRECTORY)/_copse"
	for page in $(wildcard man/*.[0-9]); do \
	    install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}" "$$page"; \
	done

# The Ansible collection where ansible-core finds it, without its tests.
COLLECTION = $(DESTDIR)$(PREFIX)/share/ansible/collections/ansible_collections/copse/systemd
.PHONY: install-collection
install-collection:
	cd ansible && find . -type f ! -path './tests/*' ! -name '*.pyc' | while IFS= read -r file; do \
	    install -D -m 644 "$$file" "$(COLLECTION)/$$file"; \
	done

# The collection as a tarball for a Galaxy server, in target.
.PHONY: collection
collection: PROGRAMS := ansible-core
collection: prerequisites
	ansible-galaxy collection build --force --output-path target ansible

# Debian packages, in DEBS. The build itself fetches nothing; where rustc isn't Debian's own, dpkg isn't asked for
# it. DEB_BUILD_OPTIONS="noopt nocheck" makes them quickly, for tests.
DEBS ?= target/deb
.PHONY: deb
deb: PROGRAMS := debhelper dpkg-dev
deb: prerequisites
	tree=$$(packaging/source $(DEBS)); cd "$$tree"; \
	dpkg-buildpackage --no-sign --build=full $$(dpkg -s rustc >/dev/null 2>&1 || echo -d)
	ls $(DEBS)/*.deb

# The same packages of programs that are there already, for tests: `make deb-of-built BUILT=…`. The last line printed is
# the directory that they are in.
.PHONY: deb-of-built
deb-of-built: PROGRAMS := debhelper dpkg-dev
deb-of-built: prerequisites
	tree=$$(packaging/source --without-crates $(DEBS)-of-built); cd "$$tree"; \
	PREBUILT=$(BUILT) DEB_BUILD_OPTIONS="nocheck noautodbgsym" dpkg-buildpackage --no-sign --build=binary -d >../log 2>&1 || \
	    { cat ../log >&2; exit 1; }
	@echo $(abspath $(DEBS)-of-built)

# What a package's build tries: neither root nor a network is needed.
.PHONY: package-check
package-check:
	$(CARGO) test $(CARGOFLAGS) --lib --test cli --test errors --test golden --test schema

# What takes too long for `make test`, in a root file system of its own: see packaging/test.
.PHONY: package-test
package-test: PROGRAMS := dpkg-dev
package-test: prerequisites
	packaging/test
	$(MAKE) --no-print-directory fleet schemas

# The manual as it reads in a browser, in target/manual: `make html`.
.PHONY: html
html: PROGRAMS := mandoc
html: prerequisites
	mkdir -p target/manual
	for page in $(wildcard man/*.[0-9]); do \
	    mandoc -T html -O 'style=mandoc.css,man=%N.%S.html;https://man7.org/linux/man-pages/man%S/%N.%S.html' \
	        "$$page" > "target/manual/$${page#man/}.html"; \
	done
	cp man/mandoc.css target/manual/

# --- ill will ---------------------------------------------------------------------------------------

# tests/invariant does this briefly. cargo-fuzz needs options of rustc that only a nightly takes without
# RUSTC_BOOTSTRAP; what it finds interesting stays in fuzz/corpus, what it breaks in fuzz/artifacts.
DURATION := 60
FUZZED := group import
.PHONY: fuzz
fuzz: PROGRAMS := g++
fuzz: prerequisites
	$(CARGO) fuzz --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz
	mkdir -p fuzz/corpus/group fuzz/corpus/import
	find tests/cases tests/errors examples -name '*.toml' -type f | \
	    while read -r file; do cp "$$file" "fuzz/corpus/group/seed-$${file//\//-}"; done
	find tests/import -name '*.conf' -o -name Procfile -o -name env | \
	    while read -r file; do cp "$$file" "fuzz/corpus/import/seed-$${file//\//-}"; done
	for target in $(FUZZED); do \
	    RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target -- \
	        -dict=fuzz/words -max_total_time=$(DURATION) -max_len=4096 -timeout=10; \
	done

# --- other people's files ---------------------------------------------------------------------------

CORPUS :=
.PHONY: corpus
corpus: PROGRAMS := python3
corpus: prerequisites
	$(if $(CORPUS),,$(error make corpus CORPUS=DIR))
	COPSE_CORPUS="$(abspath $(CORPUS))" $(CARGO) test --test import -- --ignored --nocapture corpus::

# --- to look at -------------------------------------------------------------------------------------

.PHONY: demo
demo: prerequisites static
	tests/roots.sh trixie
	COPSE_BIN_DIR="$${COPSE_BIN_DIR:-$(STATIC)}" $(CARGO) run --quiet $(AS_ROOT) --example demo

# man/session.svg: what a terminal shows while the commands of tests/record/session run on a private systemd.
.PHONY: record
record: prerequisites static
	tests/roots.sh trixie
	COPSE_BIN_DIR="$${COPSE_BIN_DIR:-$(STATIC)}" $(CARGO) run --quiet $(AS_ROOT) --example record

# --- speed ------------------------------------------------------------------------------------------

# Not a test: the tables are for doc/benchmarks.md. `make bench ROUNDS=101` on a busy machine.
.PHONY: bench
bench: PROGRAMS := python3
bench: prerequisites
	@$(CARGO) build --quiet --release --no-default-features --bin copse-generator --bin copse-notify
	@podman=$$(tests/roots.sh podman); rivals=$$(tests/roots.sh rivals); \
	$(SUDO) python3 tests/bench/bench target/release/copse-generator "$$podman" $(ROUNDS); \
	echo; \
	$(SUDO) python3 tests/bench/readiness target/release/copse-notify "$$rivals" $(ROUNDS)
	@echo
	@$(MAKE) --no-print-directory bench-command
	@echo
	@$(MAKE) --no-print-directory bench-knot

# What plan, status, a start and a reload cost at scale, against systemctl and units written by hand.
.PHONY: bench-command
bench-command: prerequisites roots
	@$(CARGO) build --quiet --release
	@export COPSE_BIN_DIR="$${COPSE_BIN_DIR:-$(CURDIR)/target/release}"; \
	$(CARGO) run --quiet $(AS_ROOT) --example bench-command -- $(ROUNDS)

# Some 70 s a round: most of it is waiting for what comes after a kill.
KNOT_ROUNDS := 10
.PHONY: bench-knot
bench-knot: prerequisites
	@$(CARGO) build --quiet --release
	@root=$$(tests/roots.sh knot); export COPSE_BIN_DIR="$(CURDIR)/target/release"; \
	$(CARGO) run --quiet $(AS_ROOT) --example bench-knot -- "$$root" $(KNOT_ROUNDS)
