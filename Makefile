# Tapdeck: `make run` and `make test` are all that most people need. Both need Linux, Node (18 or newer) and make.

ARCH := $(shell uname -m | sed -e 's/x86_64/x64/' -e 's/aarch64/arm64/')
RUNTIME := $(shell uname -m | sed -e 's/x86_64/x64/')
BUN := node_modules/@oven/bun-linux-$(RUNTIME)/bin/bun
BIN := node_modules/.bin
SOURCES := $(shell find src drivers -name '*.ts' -o -name '*.jsonl' -o -path 'src/web/*.*' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help run test test-unit mutate check check-cost build deb clients image image-sources image-base test-buildroot image-qemu test-image test-vm test-clients test-home-assistant test-hawkbit update-bundle update-authority release fuzz soak bench hostile pictures page-pictures page-trees clean tools

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/' | column -t -s '|'

run: dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Start Tapdeck with your reader, or with a simulated one and a small library
	@$(BUN) tools/demo.ts

# Tests that measure the whole machine, or use all of it, run one after another. The other files run in parallel, one per
# processor.
ALONE := test/unit/system/process.test.ts test/e2e/load.test.ts test/e2e/flood.test.ts test/e2e/hostile.test.ts test/e2e/attacks-flood.test.ts test/e2e/kill.test.ts
test: node_modules/.ready ## Set up what is missing, build for both processors, check, and run every test; FILE=PATH runs that one alone
ifneq ($(FILE),)
	@$(BUN) test --timeout 180000 $(FILE:%=./%)
else
	@tools/test-setup
	@$(MAKE) --no-print-directory check build
	@mkdir -p build
	@status=0; \
	$(BUN) test --parallel=2 --timeout 180000 --reporter=junit --reporter-outfile=build/junit.xml $(ALONE:%=--path-ignore-patterns=%) || status=1; \
	$(BUN) test --timeout 180000 --reporter=junit --reporter-outfile=build/junit-alone.xml $(ALONE:%=./%) || status=1; \
	tools/failed-tests build/junit.xml build/junit-alone.xml; \
	exit $$status
endif

test-unit: node_modules/.ready ## Run the tests of test/unit, without root and without Debian packages, a file to a processor
	@$(BUN) test --parallel=3 --timeout 180000 ./test/unit

check: node_modules/.ready ## Types, lint, format and the rules of the house
	@$(BIN)/tsc -p .
	@$(BIN)/biome check --error-on-warnings .
	@$(BUN) test ./test/tidy.test.ts ./test/tidy-prose.test.ts

build: dist/tapdeck-linux-x64 dist/tapdeck-linux-arm64 dist/tapdeck-confine ## Compile dist/tapdeck-linux-x64 and dist/tapdeck-linux-arm64

check-cost: dist/tapdeck-linux-arm64 ## Count the instructions of a start, an index, a tap and a search; ACCEPT="reason" accepts them
	@tools/test-setup
	@mkdir -p build
	@ACCEPT="$(ACCEPT)" $(BUN) test --timeout 1800000 --reporter=junit --reporter-outfile=build/junit-cost.xml ./test/cost/cost.suite.ts

deb: build ## Make the Debian packages dist/tapdeck_*.deb
	@$(BUN) tools/deb.ts

clients: node_modules/.ready ## Make the packages of the client: dist/tapdeck-client-*.tgz for npm, and a wheel if there is pip
	@$(BUN) tools/client-package.ts
	@mkdir -p dist
	@npm pack --silent ./build/client --pack-destination=dist
	@if python3 -m pip --version >/dev/null 2>&1; then \
		rm -rf build/python && cp -r packaging/python build/python && cp LICENSE build/python/ && \
		python3 -m pip wheel --quiet --no-deps --wheel-dir dist build/python && ls dist/tapdeck_client-*.whl | xargs -n 1 basename; \
	else echo "no pip: the Python package is not made. Install python3-pip to change that."; fi

dist/tapdeck-linux-%: $(SOURCES) package-lock.json tools/build.ts tools/addons.ts tools/sealed-runtime.ts node_modules/.ready
	@$(BUN) tools/build.ts $*

# It is for this machine's programs; packages and images compile their own copies.
dist/tapdeck-confine: watchdog/tapdeck-confine.c watchdog/places.h watchdog/sockets.h watchdog/spare.h
	@mkdir -p dist
	@if command -v cc >/dev/null; then cc -std=c11 -Wall -Wextra -Werror -O2 -static -s $< -o $@; \
	else echo "no C compiler: players run unconfined, and health says so. Install gcc to change that."; fi

# make hands the variables of its command to each make that it starts, and Buildroot and its packages have their own of these names.
# All files of an image have the time of the commit, so that two builds of it can be equal.
commit-time = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
buildroot = env -u MAKEFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u BOARD -u CONFIG -u WITH -u JOBS $(commit-time:%=SOURCE_DATE_EPOCH=%) $(MAKE)

image: BOARD = zero2w
image: build ## Make the SD image with Buildroot: BUILDROOT_DIR=FOLDER, BOARD=zero2w, pi3, pi4 or qemu, WITH=an optional fragment, CONFIG=FILE, JOBS=packages at a time
	@test -n "$(BUILDROOT_DIR)" || { echo "make image: say where Buildroot is, BUILDROOT_DIR=FOLDER" >&2; exit 2; }
	@buildroot/board/common/check-version "$(BUILDROOT_DIR)"
	@sh buildroot/package/tapdeck/collect dist/buildroot
	@$(buildroot) -C "$(BUILDROOT_DIR)" BR2_EXTERNAL="$(CURDIR)/buildroot" O="$(CURDIR)/build/buildroot/$(BOARD)" tapdeck_$(BOARD)_defconfig
ifneq ($(WITH)$(CONFIG)$(JOBS),)
	@{ $(if $(WITH)$(CONFIG),cat $(WITH:%=buildroot/fragments/%.fragment) $(CONFIG);) $(if $(JOBS),echo BR2_PER_PACKAGE_DIRECTORIES=y;) } >>"build/buildroot/$(BOARD)/.config"
	@$(buildroot) -C "$(CURDIR)/build/buildroot/$(BOARD)" olddefconfig
endif
	@buildroot/board/common/forget-changed "build/buildroot/$(BOARD)"
	@$(buildroot) $(JOBS:%=-j%) -C "$(CURDIR)/build/buildroot/$(BOARD)"

# Buildroot downloads from the internet by itself. This is for a machine that reaches the packages of Debian and PyPI only.
image-sources: BOARD = zero2w
image-sources: node_modules/.ready ## Fill OUT=FOLDER with Buildroot's downloads for BOARD=zero2w: BUILDROOT_DIR=FOLDER, CHECKOUTS=FOLDER
	@test -n "$(BUILDROOT_DIR)" -a -n "$(OUT)" || { echo "make image-sources: say BUILDROOT_DIR=FOLDER and OUT=FOLDER" >&2; exit 2; }
	@test -e "$(OUT)/toolchain/buildroot.config" || tools/image/cross-toolchain "$(OUT)/toolchain"
	@flock --nonblock "$(OUT)/lock" $(BUN) tools/image/buildroot-sources.ts --buildroot "$(BUILDROOT_DIR)" --out "$(OUT)" --config "$(OUT)/toolchain/buildroot.config" $(if $(CHECKOUTS),--checkouts "$(CHECKOUTS)") $(BOARD)

test-buildroot: node_modules/.ready ## Check the Buildroot tree, and, with BUILDROOT_DIR=FOLDER, have Buildroot check it
	@BUILDROOT_DIR="$(BUILDROOT_DIR)" $(BUN) test --timeout 120000 ./test/buildroot

image-qemu: dist/tapdeck-linux-arm64 ## Make the SD image dist/tapdeck-qemu.img out of Debian's packages, to be booted by QEMU
	@tools/image-setup
	@$(BUN) tools/image/main.ts

image-base: node_modules/.ready ## Pack what Buildroot made, dist/base-qemu.tar.zst, and describe it in buildroot/manifest; OUTPUT=FOLDER of Buildroot
	@$(BUN) tools/image/manifest.ts "$(or $(OUTPUT),build/buildroot/qemu)"
	@$(BUN) tools/image/base-archive.ts "$(or $(OUTPUT),build/buildroot/qemu)" dist/base-qemu.tar.zst

REPORT ?= image
BOARDS ?= boots first-start confined screens sound bluetooth wifi share sticks watchdog updates cuts history saves resume endings transfers zero2w
test-image: ## Boot that image on emulated boards; CUTS=100 SEED=1 cuts the power that often, THOROUGH=1 adds slow cases, BOARDS=boots is a part, IMAGE=FILE is an image of Buildroot's
	@tools/image-setup
ifneq ($(IMAGE),)
	@$(BUN) tools/image/unpack-image.ts "$(IMAGE)" build/image-given
else
	@test -e dist/tapdeck-qemu.img || $(MAKE) --no-print-directory image-qemu
endif
	@mkdir -p build/image
	@rm -f build/image/consoles-$(REPORT).log
	@$(if $(IMAGE),IMAGE_FOLDER="$(CURDIR)/build/image-given") CONSOLES=consoles-$(REPORT).log $(BUN) test --timeout 600000 --reporter=junit --reporter-outfile=build/junit-$(REPORT).xml $(BOARDS:%=./test/image/%.suite.ts)

# By default the bundle has the stand-in image's system, built a second time as an update.
BOARD ?= qemu
ROOT ?= build/image/input/root.squashfs
SLOT ?= build/image/boot/slot-a
update-bundle: node_modules/.ready ## Sign dist/tapdeck-BOARD.raucb with AUTHORITY=FOLDER, of ROOT=IMAGE and SLOT=FOLDER
	@$(BUN) tools/update-bundle.ts --authority "$(AUTHORITY)" --board "$(BOARD)" --root "$(ROOT)" --boot "$(SLOT)" --out "dist/tapdeck-$(BOARD).raucb"

update-authority: node_modules/.ready ## Make the keys that sign updates: FOLDER=FOLDER; RENEW=1 makes another one, REVOKE=FILE revokes one
	@$(BUN) tools/update-authority.ts "$(FOLDER)" $(if $(RENEW),--renew) $(if $(REVOKE),--revoke "$(REVOKE)")

release: BOARDS = zero2w pi3 pi4
release: node_modules/.ready ## Make the files of a release, OUT=dist/release, of images in BUILDS=build/buildroot: AUTHORITY=FOLDER, URL=ADDRESS, BOARDS="zero2w pi3 pi4"
	@$(BUN) tools/release/main.ts --authority "$(AUTHORITY)" --url "$(URL)" --builds "$(or $(BUILDS),build/buildroot)" --out "$(or $(OUT),dist/release)" $(BOARDS)

test-vm: dist/tapdeck-linux-arm64 ## Drive real kernel drivers in a virtual machine: seven readers, plugged and unplugged, macros, and a television
	@tools/image-setup
	@mkdir -p build
	@$(BUN) test --timeout 600000 --reporter=junit --reporter-outfile=build/junit-vm.xml ./test/vm/kernel.suite.ts

# `make test` leaves Go out: it compiles its standard library for a minute.
test-clients: export GO_CLIENTS = 1
test-clients: node_modules/.ready dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Make the same 20 calls with seven public client libraries, Go's included (root)
	@tools/test-setup
	@$(BUN) test --timeout 180000 ./test/clients

test-home-assistant: node_modules/.ready dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Show a deck in a real Home Assistant, in a network of its own (root)
	@tools/home-assistant-setup
	@unshare --net sh -c 'ip link set lo up && exec $(BUN) test/home-assistant/main.ts'

test-hawkbit: ## Roll updates out to three emulated boards by a real hawkBit 0.9 (HAWKBIT_JAR=FILE, Java 17)
	@tools/image-setup
	@test -e dist/tapdeck-qemu.img || $(MAKE) --no-print-directory image-qemu
	@CONSOLES=consoles-hawkbit.log HAWKBIT_JAR="$(HAWKBIT_JAR)" $(BUN) test/hawkbit/main.ts

mutate: node_modules/.ready ## Show which small changes of FILE=src/... its unit tests do not notice (SAMPLE=N, TESTS="...")
	@FILE="$(FILE)" SAMPLE="$(SAMPLE)" $(if $(TESTS),TESTS="$(TESTS)") $(BUN) tools/mutate.ts

FUZZED := drivers/protocol/pn532-frame drivers/protocol/ccid drivers/protocol/ndef drivers/tags/tag-fuzz drivers/protocol/line-readers script/parser script/run
fuzz: node_modules/.ready ## Give each parser of outside bytes 1,000,000 random inputs (FUZZ_ROUNDS=N for others)
	@FUZZ_ROUNDS=$(or $(FUZZ_ROUNDS),1000000) $(BUN) test --timeout 7200000 $(FUZZED:%=test/unit/%.test.ts) test/unit/linear-time.test.ts

soak: node_modules/.ready ## Live a day of 100,000 taps in emulated time, with a fault in every second one (TAPS=N, SEED=N)
	@$(BUN) test/soak/main.ts --taps $(or $(TAPS),100000) --seed $(or $(SEED),1)

bench: node_modules/.ready dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Measure a tap's way, idle cost and start, beside competitors; ONLY=builds BESIDE=COMMIT,COMMIT compares builds, ONLY=fleet measures 10,000 decks
	@$(BUN) test/bench/main.ts $(ONLY)

hostile: node_modules/.ready dist/tapdeck-linux-$(ARCH) ## Attack the service for ten minutes from a network of its own (root)
	@$(BUN) test/load/hostile.ts 600

pictures: node_modules/.ready dist/tapdeck-linux-$(ARCH) ## Make the README's pictures in docs/pictures again (root, chromium)
	@$(BUN) tools/pictures.ts

page-pictures: node_modules/.ready dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Store pictures of each screen of the page, in three widths, in build/page (root, chromium)
	@rm -rf build/page && mkdir -p build/page
	@PAGE_PICTURES=$(CURDIR)/build/page $(BUN) test --timeout 180000 test/e2e/page-

page-trees: node_modules/.ready dist/tapdeck-linux-$(ARCH) dist/tapdeck-confine ## Make the accessibility trees of the page in test/transcripts/page again (root, chromium)
	@PAGE_TREES=write $(BUN) test --timeout 180000 test/e2e/page-screens.test.ts -t "accessibility tree"

clean: ## Remove everything that the other targets made
	@rm -rf node_modules dist build

# No install script is run: the packages work without, Bun included.
node_modules/.ready: package.json package-lock.json
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@ln -sf ../@oven/bun-linux-$(RUNTIME)/bin/bun node_modules/.bin/bun
	@touch $@
