#!/usr/bin/env bash
# Builds the NATS server that the tests talk to: see ../go-program.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../go-program.sh"

build() {
	# In a copy, because -mod=mod may write to go.mod and go.sum, and a build must not change the checkout.
	cp "$here/go.mod" "$here/go.sum" "$1"
	cd "$1" && go build -mod=mod -o "$1/nats-server" github.com/nats-io/nats-server/v2
}
go_program nats-server 2.15.2 'about a minute' ', or name a nats-server with NATS_BIN' build "$@"
