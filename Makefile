# Everything that a developer or a user types is here; make help lists it. Tools are Go modules pinned under hack/, and
# nothing is fetched but Go modules and the distribution's packages.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Asked for once: a commit between two steps of one run must not change what they call the same image.
ifndef VERSION
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
endif
# The image of the operator: what the manifests name, and what image and demo build and load.
IMG ?= docker.io/leasehold/leasehold:$(VERSION)
# The Kubernetes the tests and the demo use: local (compiled here, no container engine needed) or kind.
export CLUSTER ?= local
# Where test-redis-servers keeps the servers it fetched.
REDIS_SERVERS_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/leasehold/redis-servers
# Arguments for go test in test-e2e, for example E2E_ARGS="-run TestTheft".
E2E_ARGS ?=
# Arguments for go test in test-crash, and how many of its trials run at once.
CRASH_ARGS ?=
CRASH_PARALLEL ?= 4

CLUSTER_SH := hack/cluster/cluster
TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=$(CURDIR)/hack/tools/golangci-lint/go.mod golangci-lint
# Nested modules of our own code, held to the same rules.
MODULES := . hack/image hack/cluster/components hack/tools/kube-api-linter test/bench/lease
TIDY_MODULES := $(MODULES) hack/tools hack/tools/golangci-lint hack/cluster/kind

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
	  /^[a-zA-Z0-9_-]+:.*?##/ { printf "  \033[36m%-22s\033[0m %s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

##@ See it work

.PHONY: demo
demo: cluster-up dist/image.tar build-installer ## Run three reports on a local cluster: a success, a wait and a theft.
	IMG=$(IMG) hack/demo

.PHONY: cluster-up
cluster-up: ## Start the local cluster (about 7 minutes of compiling the first time).
	$(CLUSTER_SH) up

.PHONY: cluster-down
cluster-down: ## Stop the local cluster and remove all that it left on the machine.
	$(CLUSTER_SH) down

.PHONY: cluster-status
cluster-status: ## Show what of the local cluster runs.
	$(CLUSTER_SH) status

##@ Development

.PHONY: manifests
manifests: ## Generate the CRD and the RBAC role.
	$(TOOL) controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir=config/crd/bases
	go run ./hack/crdtrim config/crd/bases/leasehold.dev_reportjobs.yaml
	$(TOOL) controller-gen rbac:roleName=manager-role paths=./internal/controller/... output:rbac:dir=config/rbac

.PHONY: generate
generate: ## Generate the deep-copy functions.
	$(TOOL) controller-gen object paths=./api/...

.PHONY: fmt
fmt: ## Format the code and order its imports.
	@for m in $(MODULES); do (cd $$m && $(LINT) fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: vet
vet: ## Run go vet.
	go vet ./... && go vet -tags crash,e2e,outages,topologies ./test/...

.PHONY: lint
lint: ## Run the linters on every module.
	@for m in $(MODULES); do \
	  echo "golangci-lint run ($$m)"; (cd $$m && $(LINT) run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: lint-api
lint-api: ## Hold the API types to the conventions of the Kubernetes API.
	go build -C hack/tools/kube-api-linter -o $(CURDIR)/bin/kube-api-linter .
	bin/kube-api-linter -test=false ./api/...

.PHONY: tidy
tidy: ## Tidy every module.
	@for m in $(TIDY_MODULES); do echo "go mod tidy ($$m)"; (cd $$m && go mod tidy); done

.PHONY: verify
verify: manifests generate tidy lint lint-api ## Check that generated files and modules are up to date, and lint.
	@changed=$$(git status --porcelain -- api config '*go.mod' '*go.sum'); [ -z "$$changed" ] \
	  || { echo "$$changed"; echo "verify: these files were not up to date: commit what make verify changed"; exit 1; }

##@ Test

.PHONY: test-setup
test-setup: ## Install what the tests need: redis-server, and a C compiler for the race detector.
	$(CLUSTER_SH) packages test

.PHONY: test
test: test-setup ## Run unit tests, and those on a real redis-server and a real API server, with the race detector.
	assets=$$($(CLUSTER_SH) components envtest); \
	  KUBEBUILDER_ASSETS=$$assets go test -race ./...
	cd hack/image && go test -race ./...

.PHONY: test-e2e
test-e2e: cluster-up dist/image.tar build-installer ## Run the end-to-end tests on the local cluster.
	IMG=$(IMG) go test -tags e2e -count 1 -timeout 20m -v ./test/e2e $(E2E_ARGS)

.PHONY: test-outages
test-outages: cluster-up dist/image.tar build-installer ## Let 100 reports outlive their leader, a rollout and 5 minutes without an API server (15 minutes).
	IMG=$(IMG) go test -tags e2e,outages -count 1 -timeout 40m -v ./test/e2e -run TestAHundredReports

.PHONY: test-crash
test-crash: test-setup cluster-up build-installer ## Kill the operator after every single write of a report's life, and compare the end.
	go test -tags crash -count 1 -timeout 45m -parallel $(CRASH_PARALLEL) -v ./test/crash $(CRASH_ARGS)

.PHONY: test-cluster
test-cluster: ## Check the local cluster itself: what it promises, and that it leaves nothing behind.
	hack/cluster/selfcheck

.PHONY: test-redis-servers
test-redis-servers: test-setup ## Run the tests of the lease on other servers: Redis 8, Valkey 8 and 9 (fetched from Debian, not installed).
	@servers=$$(hack/redis-servers $(REDIS_SERVERS_DIR)); for server in $$servers; do \
	  echo "$$server"; LEASEHOLD_REDIS_SERVER=$$server go test -race -count 1 ./internal/lease/...; done

.PHONY: test-redis-topologies
test-redis-topologies: test-setup ## Run the lease on a Sentinel trio and a Cluster: failovers, slot migration, lost nodes.
	go test -race -count 1 -timeout 15m -tags topologies -v ./test/topologies

.PHONY: bench-lease
bench-lease: test-setup ## Time renewals, 100,000 leases and handoffs, beside other lock libraries and redis-benchmark.
	go run -C test/bench/lease .

.PHONY: bench-start
bench-start: cluster-up dist/image.tar build-installer ## Time apply to running, beside a plain Job on the same node.
	IMG=$(IMG) go run ./test/bench/start

.PHONY: bench-lifecycle
bench-lifecycle: cluster-up dist/image.tar build-installer ## Count the writes and events of a report, and time the next one's start.
	IMG=$(IMG) go run ./test/bench/lifecycle

##@ Build

.PHONY: build
build: manifests generate ## Build the manager binary for this machine.
	go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/manager ./cmd/manager

.PHONY: docker-build
docker-build: ## Build the operator's image with Docker.
	docker build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: image
image: dist/image.tar ## Build the operator's image without a container engine, as dist/image.tar.

# Rebuilt each time: the Go build cache knows better than make what changed.
.PHONY: dist/image.tar
dist/image.tar:
	@mkdir -p dist
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o dist/manager ./cmd/manager
	go run -C hack/image . -name $(IMG) -out $(CURDIR)/$@ -entrypoint /manager -user 65532:65532 $(CURDIR)/dist/manager=/manager

.PHONY: build-installer
build-installer: manifests generate ## Write dist/install.yaml: the CRD, the roles and the operator in one file.
	@rm -rf dist/config && mkdir -p dist && cp -r config dist/config
	cd dist/config/manager && $(CURDIR)/hack/kustomize edit set image controller=$(IMG)
	hack/kustomize build dist/config/default > dist/install.yaml
	@rm -rf dist/config

##@ Deploy to the cluster of your kubeconfig

.PHONY: install
install: manifests ## Install the CRD.
	hack/kustomize build config/crd | kubectl apply -f -

.PHONY: uninstall
uninstall: ## Remove the CRD, and with it every ReportJob.
	hack/kustomize build config/crd | kubectl delete --ignore-not-found -f -

.PHONY: deploy
deploy: build-installer ## Install the operator with image IMG.
	kubectl apply -f dist/install.yaml

.PHONY: undeploy
undeploy: build-installer ## Remove the operator. Delete the ReportJobs first.
	kubectl delete --ignore-not-found -f dist/install.yaml

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin dist
