# Every target works on a fresh machine with Go 1.26; tools are built from
# tools.mod, so that their dependencies stay out of go.mod.
TOOL = go tool -modfile=tools.mod
TESTFLAGS ?=
# Packages with nothing that the race detector could find: one goroutine, or programs that are processes of their own. Their tests,
# and those that leave themselves out under it (testenv.OneGoroutine), run without: a fraction of the time, and the same evidence.
NO_RACE = ./cmd/zlink-nats ./domain ./domain/domaintest
# Tests wait more than they work.
PARALLEL = -p 4

# Memory is there to save processor time: the checkers and the tests make much garbage and keep little.
lint test: export GOGC = 400
lint test: export GOMEMLIMIT = 3GiB

.PHONY: run build check lint test short soak fuzz bench check-bench

run: build ## build and start the service with an embedded NATS server
	./bin/zlink-nats serve

build: ## build the program into bin/
	go build -trimpath -o bin/zlink-nats ./cmd/zlink-nats

check: lint test ## everything that must pass before a change lands

lint: ## static checks
	go vet ./...
	$(TOOL) staticcheck ./...
	$(TOOL) errcheck -ignoretests -exclude .errcheck ./...
	go fix -diff ./...
	@unformatted=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); \
		if [ -n "$$unformatted" ]; then echo "gofumpt -w these:"; echo "$$unformatted"; exit 1; fi
	@dead=$$($(TOOL) deadcode -test ./...); if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi
	go mod tidy -diff

test: ## all tests, with the race detector where it can find something
	go test -race $(PARALLEL) $(TESTFLAGS) $$(go list ./... | grep -v -e /cmd/zlink-nats -e '/domain$$')
	go test $(PARALLEL) $(TESTFLAGS) $(NO_RACE)

short: ## the tests without clusters
	go test -short ./...

soak: ## random and fault histories, longer than CI does
	go test -timeout 60m -count=1 ./domain ./domain/domaintest ./kvstore/jetkv -run 'Model|Agree|SameAnswers|Restart' -rapid.checks=200
	go test -race -timeout 60m -count=1 ./cmd/zlink-nats ./domain
	go test -race -run 'Linearizable' -timeout 60m -count=1 ./kvstore/jetkv -faults=300
	go test -race -run 'TestSoak' -timeout 60m -count=1 ./histories -seeds=50 -duration=20s

fuzz: ## every fuzz target for 30 s
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s -fuzzminimizetime 5x $$p || exit 1; \
		done; done

check-bench: ## the checks of the comparison, a module of its own
	cd bench && go vet ./... && go test -short ./...

bench: ## the comparison with etcd and Redis, see docs/bench/
	cd bench && go run . -suite all
