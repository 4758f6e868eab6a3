#!/usr/bin/env bash
# Builds the broker that the bench measures a client of Kafka against: see ../go-program.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../go-program.sh"

build() {
	cd "$here" && go build -mod=readonly -trimpath -o "$1/kfake" .
}
key=$(cat "$here/main.go" "$here/go.mod" "$here/go.sum" | sha256sum | cut -c 1-12)
go_program kfake "$key" 'about a minute' '' build "$@"
