# Everything a developer or a user does with this project. `make help` lists it.

GO            ?= go
BIN           := bin
REPORTS       ?= reports
VERSION       ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOLANGCI      := v2.15.0
GORELEASER    := v2.15.1
ACTIONLINT    := v1.7.12
CYCLONEDX     := v1.10.0
GOVULNCHECK   := v1.1.4
DEADCODE      := v0.51.0
TOOLS         := $(CURDIR)/.cache/bin
MODULES       := adapter adapters deploy/kubernetes tools
LINTED        := $(MODULES) locktest/testdata/libraries
ADAPTERS      := ./redsync ./redislock ./rueidislock ./etcd ./advisory ./gozero ./valkeylock ./gocron
GO_FOLDERS    := cmd deploy docs internal linear locktest scenarios scripts sdk $(MODULES)
GO_FILES      := $(shell find cmd internal linear scenarios sdk \( -name '*.go' -o -name '*.sql' -o -name '*.yaml' -o -name 'sim_adapter.*' -o -path 'cmd/sim/start/*' -type f \) -not -path '*/testdata/*')

# The go command compiles a package once for each set of these: what builds, vets and tests has the same, and so has a
# copy in another folder. The race detector needs cgo.
export CGO_ENABLED ?= 0
export GOFLAGS     += -trimpath

# The programs of tools/ are a module of their own, and work in the folder of the repository.
tool = $(GO) build -C tools -o $(TOOLS)/ ./$(1) && $(TOOLS)/$(1)

.DEFAULT_GOAL := help
.PHONY: help
help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup build ## Set up, build, run the gc-pause scenario, and say where the report is
	$(BIN)/sim run scenarios/gc-pause.yaml --out $(REPORTS)
	@echo; echo "The report: $$(readlink -f $(REPORTS)/latest)/report.html"

.PHONY: build
build: $(BIN)/sim ## Build bin/sim

$(BIN)/sim: $(GO_FILES) go.mod go.sum deploy/docker/Dockerfile docs/lock-protocol.schema.json docs/scenario.schema.json docs/reference/result.md docs/reference/audit.md docs/reference/output.md docs/reference/lock-log.md docs/reference/corpus.md $(shell find internal -path '*/assets/*' -o -path '*/page/*' -type f 2>/dev/null)
	$(GO) build -ldflags "-X main.version=$(VERSION)" -o $@ ./cmd/sim

# Its engine is compiled for the browser, which nothing else needs: make build leaves it out.
.PHONY: play
play: ## Build bin/sim with the playground in it, and write the playground to .cache/playground.html
	@mkdir -p .cache
	stamp=$$($(GO) run ./internal/app/play/compile) && \
	$(GO) build -ldflags "-X main.version=$(VERSION) -X github.com/redlock-sim/redlock-sim/internal/app/play.Stamp=$$stamp" -o $(BIN)/sim ./cmd/sim
	$(BIN)/sim play -o .cache/playground.html

.PHONY: launcher
launcher: ## Build what starts programs in virtual time, which is embedded (C; with gcc)
	sh internal/supervisor/launch/launcher/build.sh

.PHONY: clockcode
clockcode: ## Assemble what programs in virtual time read clocks by, which is embedded (with binutils)
	as -o .cache/clock.o internal/supervisor/clock.asm
	objcopy -O binary -j .text .cache/clock.o internal/supervisor/clock.bin

.PHONY: adapters
adapters: ## Build the lock programs of adapters/ into bin/adapters/
	cd adapters && $(GO) build -o ../$(BIN)/adapters/ $(ADAPTERS)

.PHONY: setup
setup: ## Install what live runs need, where it is missing (Debian, Ubuntu)
	@sh scripts/setup.sh run

.PHONY: docker-image
docker-image: setup ## Build the image for nodes in Docker from this machine's packages, without a registry
	@sh scripts/docker-image.sh

.PHONY: docker-engine
docker-engine: ## Run a Docker engine of our own until Ctrl-C, and say how to use it
	@bash scripts/docker-engine.sh

.PHONY: servers
servers: ## Bring servers of other versions (Redis 6.2, 8.0, 8.2, Valkey 8.1, 9.1) into .cache/servers/; nothing is installed
	@sh scripts/servers.sh

.PHONY: libraries
libraries: ## Bring the lock libraries of npm, PyPI and Maven that adapters/ puts on trial into .cache/libraries/; nothing is installed
	@sh scripts/libraries.sh

.PHONY: servers-table
servers-table: setup build servers ## Run all scenarios in virtual time on each of these servers, print the table of docs/reference/nodes.md
	@sh scripts/servers-table.sh $(BIN)/sim

.PHONY: setup-test
setup-test:
	@sh scripts/setup.sh test

.PHONY: test
test: setup-test build ## Set up what the tests need, and run those that a change needs (5 minutes; SLICE=3 adds one eighth of the others)
	$(GO) run ./scripts/suite $(if $(SLICE),-slice $(SLICE)) -modules '$(MODULES)'

.PHONY: test-all
test-all: setup-test build ## Run all tests: every page at every width, all pipelines, the race detector (an hour)
	@sh scripts/servers.sh || echo 'tests that need one of these servers will not run'
	$(GO) run ./scripts/suite -all -modules '$(MODULES)'

.PHONY: slow
slow: ## Print the slowest tests and packages of the last make test or make test-all
	@$(GO) run ./scripts/suite -slow .cache/suite/last.json

.PHONY: newest
newest: ## Build and test with every direct dependency at its newest, in a copy
	sh scripts/newest.sh ./locktest ./internal/world/client/...

.PHONY: torture
torture: setup-test build ## Kill sim in every way, starve it, feed it spoilt files, strike campaigns (TORTURE=10 rounds, STRIKES=200; about 15 minutes)
	TORTURE=$(TORTURE) $(GO) test -tags torture -timeout 3h -v -count 1 -run 'TestDeaths|TestScarceMachine|TestHostileFiles' ./cmd/sim
	CAMPAIGN_STRIKES=$(or $(STRIKES),200) $(GO) test -timeout 1h -v -count 1 -run TestFaults ./internal/app/campaign

.PHONY: bench
bench: setup ## Run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: sound
sound: build ## Run a correct lock a million times in the virtual world: no alarm may come
	$(BIN)/sim search internal/explore/testdata/sound.yaml --for 0s --seeds 1000000 --property exclusive-lease \
		--kinds pause,latency,hold,cut,reset,bandwidth,limit-data,slow-close,stall --out .cache/sound

.PHONY: parity
parity: setup build ## Run all scenarios with each built-in lock behind the lock protocol: the verdicts must be the same
	$(BIN)/sim run scenarios/ --as-programs --world virtual --out .cache/parity
	$(BIN)/sim run scenarios/sentinel-*.yaml --as-programs --out .cache/parity # and in real time

.PHONY: reproduce
reproduce: setup build ## Measure how much of what a search finds shows again on real Redis (10 minutes)
	@sh scripts/reproduce.sh $(BIN)/sim 10 .cache/reproduce

.PHONY: detection
detection: setup build ## Measure how soon a search among real servers finds each mistake of the built-in locks (an hour)
	@sh scripts/detection.sh $(BIN)/sim 5 .cache/detection

.PHONY: virtual-detection
virtual-detection: build ## Measure whether a minute's search in virtual time finds each mistake behind the lock protocol, in 10 seeds (hours)
	@sh scripts/virtual-detection.sh $(BIN)/sim 10 .cache/virtual-detection

.PHONY: virtual-programs
virtual-programs: setup adapters ## Measure how the libraries of adapters/ run in virtual time: 100 seeds twice (an hour)
	@sh scripts/virtual-programs.sh 100 .cache/virtual-programs

.PHONY: sound-live
sound-live: setup build ## Run a correct lock 20,000 times among real servers under random faults: no alarm may come (40 minutes)
	$(BIN)/sim search --world live --lock '$(BIN)/sim lock redlock' --for 0s --seeds 20000 --out .cache/sound-live

.PHONY: model-check
model-check: setup servers ## Hold the model of Redis against real servers in virtual time: 100,000 random steps each (20 minutes; RANDOM_SEED=7 for others)
	RANDOM_HISTORIES=100000 $(GO) test ./internal/world/virtual -run 'TestModelIsRedis|TestModelIsValkey|TestLuaIsRedis' -count 1 -v -timeout 2h

.PHONY: sentinel-model
sentinel-model: setup ## Hold the model of Redis Sentinel against real sentinels in virtual time, with 300 random schedules (5 minutes)
	REDLOCK_SIM_TESTS=all $(GO) test ./internal/world/virtual/guests -run TestModelOfSentinel -count 1 -v -timeout 30m -schedules 300

.PHONY: fuzz
fuzz: ## Fuzz each parser for a while (FUZZTIME=30s)
	@sh scripts/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: fmt
fmt: ## Format the code
	gofmt -w $(GO_FOLDERS)

.PHONY: lint
lint: $(TOOLS)/golangci-lint-$(GOLANGCI) ## Format check, golangci-lint with vet
	@test -z "$$(gofmt -l $(GO_FOLDERS))" || { gofmt -l $(GO_FOLDERS); echo 'hint: make fmt'; exit 1; }
	for m in . $(LINTED); do (cd $$m && $(TOOLS)/golangci-lint-$(GOLANGCI) run --allow-parallel-runners) || exit 1; done

$(TOOLS)/golangci-lint-$(GOLANGCI):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	mv $(TOOLS)/golangci-lint $@

SYSTEMS := darwin/arm64 windows/amd64

.PHONY: cross
cross: ## See that sim builds for macOS and Windows (without optimization, which takes time)
	for s in $(SYSTEMS); do (export GOOS=$${s%/*} GOARCH=$${s#*/}; $(GO) build -gcflags='all=-N -l' -o /dev/null ./cmd/sim) || exit 1; done

# Tests that need no Redis, no processes and no files of one system.
PURE := ./internal/words ./internal/history/... ./internal/redis/resp ./internal/redis/cluster ./internal/redis/sentinel ./internal/lock \
	./internal/scenario/resource ./internal/scenario/yamlform ./internal/world/link ./internal/checker/facts

.PHONY: test-others
test-others: ## What CI runs on macOS and Windows: tests that need no Redis, and a scenario in virtual time
	$(GO) test $(PURE)
	$(GO) run ./cmd/sim run gc-pause --world virtual --out .cache/others

.PHONY: release-snapshot
release-snapshot: $(TOOLS)/goreleaser-$(GORELEASER) release-tools ## Build the files of a release into .cache/dist/; publish nothing
	$< check
	PATH="$(TOOLS):$$PATH" $< release --snapshot --clean

.PHONY: release-tools
release-tools: $(TOOLS)/cyclonedx-gomod-$(CYCLONEDX)
	ln -sf cyclonedx-gomod-$(CYCLONEDX) $(TOOLS)/cyclonedx-gomod

$(TOOLS)/cyclonedx-gomod-$(CYCLONEDX):
	GOBIN=$(TOOLS) $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX)
	mv $(TOOLS)/cyclonedx-gomod $@

.PHONY: sim-image
sim-image: ## Build the container image of sim from the package that make release-snapshot left (BASE= names another base image)
	docker build --tag redlock-sim --file deploy/docker/Dockerfile.sim $(if $(BASE),--build-arg BASE=$(BASE)) .cache/dist

.PHONY: disclosure
disclosure: ## See that nothing is published of which the maintainers of a library are to hear first (docs/findings/README.md)
	$(call tool,trackrecord) -disclosure

.PHONY: release-check
release-check: disclosure ## See that the archives of a release are whole, that the program in them runs, and that nothing is published too soon
	$(MAKE) release-snapshot
	sh scripts/release-check.sh .cache/dist

.PHONY: tag
tag: ## Tag this commit as a release (TAG=v1.2.3), if the changelog has it and make release-check is green; push nothing
	@sh scripts/tag.sh '$(TAG)'

$(TOOLS)/goreleaser-$(GORELEASER): # takes minutes
	GOBIN=$(TOOLS) $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER)
	mv $(TOOLS)/goreleaser $@

.PHONY: deadcode
deadcode: ## Look for functions that neither the program nor a test can reach (examples are to be read)
	@mkdir -p .cache; printf 'go 1.26.0\n\nuse (\n\t..\n\t../tools\n)\n' > .cache/go.work # tools uses functions of sim that sim does not use
	@for m in . $(filter-out tools,$(MODULES)); do cd $(CURDIR)/$$m; \
		test $$m != . && work=off packages=./... || { work=$(CURDIR)/.cache/go.work; packages='./... ./tools/...'; }; \
		dead="$$(GOWORK=$$work $(GO) run golang.org/x/tools/cmd/deadcode@$(DEADCODE) -test $$packages | sed '/\/example_test.go:/d')" && test -z "$$dead" || { echo "$$dead"; exit 1; }; \
	done

.PHONY: mutants
mutants: setup-test ## Change what verdicts rest on, one operator at a time, and see whether a test notices (an hour; P=internal/lock for one package)
	$(call tool,mutants) $(P)

.PHONY: track-record
track-record: setup build adapters libraries ## Audit and search the libraries of adapters/ (hours; FOR=5m ONLY='redsync redis-py' JOBS=8), write docs/track-record.md
	$(call tool,trackrecord) -for $(or $(FOR),1m) -only '$(ONLY)' -jobs $(or $(JOBS),0)

.PHONY: track-record-pages
track-record-pages: ## Write docs/track-record.md, and the tables of docs/guide/choosing-a-library.md, anew from what was measured
	$(call tool,trackrecord) -pages

.PHONY: soak
soak: setup build adapters libraries ## Let each library's lock live for a simulated day (ten minutes to an hour each; ONLY='redsync redis-py'), write docs/internals/soak.md
	$(call tool,soak) -only '$(ONLY)'

.PHONY: recall
recall: setup build ## Put libraries on trial in versions with known faults (an hour; ONLY='js-extend-in-seconds'), write docs/internals/recall.md
	$(call tool,recall) -only '$(ONLY)'

.PHONY: translations
translations: ## Print which translated pages (docs/zh) are behind their originals, and what is wrong with others
	@$(GO) test ./internal/testkit/docstest -count 1 -v -run '^TestTranslations$$'

.PHONY: site
site: play ## Build the field guide, a static site with a report of every scenario, into .cache/site
	$(call tool,site) -play .cache/playground.html

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what is used
	for m in . $(MODULES); do (cd $$m && $(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) ./...) || exit 1; done

.PHONY: schema
schema: build ## Write the schemas of docs anew: scenario, lock-log, corpus, result, card, output
	$(BIN)/sim schema > docs/scenario.schema.json
	$(BIN)/sim schema lock-log > docs/lock-log.schema.json
	$(BIN)/sim schema corpus > docs/corpus.schema.json
	$(BIN)/sim schema result > docs/result.schema.json
	$(BIN)/sim schema card > docs/card.schema.json
	$(BIN)/sim schema output > docs/output.schema.json

.PHONY: golden
golden: ## Write all files anew that tests compare with what they get (look at the difference)
	for m in internal tools; do \
		$(GO) test -C $$m -count 1 $$(cd $$m && grep -rlE --include '*_test.go' 'internal/(testkit/golden|report/reporttest)"' . | xargs -n 1 dirname | sort -u) -update || exit 1; \
	done

.PHONY: check
check: lint cross deadcode test ## What a commit passes (CI adds a part of make test-all, known vulnerabilities, and the newest dependencies)

.PHONY: pins
pins: ## Write the actions and images of cmd/sim/start/pins.txt into workflows and pages
	@sh scripts/pins.sh

.PHONY: clean
clean: ## Remove what was built and the runs
	rm -rf $(BIN) .cache
	find $(REPORTS) -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} +

# Two locks of sim, one of them with a mistake, and the guarantees that show both.
CARD := --lock redlock --lock 'redlock --switch value' $(addprefix --guarantee ,exclusive paused-holder late-release failover owner-only)

.PHONY: pictures
pictures: setup play ## Make the pictures of the README anew: a run of gc-pause, a report card, the playground (with Chromium)
	@rm -rf .cache/pictures
	$(BIN)/sim run gc-pause --seed 42 --out .cache/pictures
	for v in unfenced fenced; do $(BIN)/sim report .cache/pictures/gc-pause/* --svg --variant $$v -o docs/images/gc-pause-$$v.svg || exit 1; done
	$(BIN)/sim audit $(CARD) --world virtual --seed 1 --no-shorten --out .cache/pictures || test $$? = 1 # a lock is broken
	$(call tool,pictures) -card .cache/pictures/audit/*/card.html -play .cache/playground.html -o docs/images
