#!/usr/bin/env bash
# Builds the Consul server that the tests talk to: see ../go-program.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../go-program.sh"

build() {
	# In a copy, because -mod=mod may write to go.mod and go.sum, and a build must not change the checkout.
	cp "$here/go.mod" "$here/go.sum" "$1"
	cd "$1" && go build -mod=mod -o "$1/consul" github.com/hashicorp/consul
}
go_program consul 1.20.2 'about 5 minutes' ', or put a consul binary on PATH, or name one with CONSUL_BIN' build "$@"
