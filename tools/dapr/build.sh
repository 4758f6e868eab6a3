#!/usr/bin/env bash
# Builds Dapr's daemon with its JetStream component and no other, which the bench measures: see ../go-program.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../go-program.sh"

version=$(sed -n 's|^require github.com/dapr/dapr v||p' "$here/go.mod")
build() {
	local module named="-X github.com/dapr/dapr/pkg/buildinfo.version=$version"
	# In a copy of the module, because a file of it is replaced. There its own go.mod counts, with what it replaces, and its own go.sum.
	module=$(cd "$here" && go mod download -json github.com/dapr/dapr | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp -R "$module" "$1/dapr"
	chmod -R u+w "$1/dapr"
	cp "$here/components.go" "$1/dapr/cmd/daprd/components/zz_notag.go"
	cd "$1/dapr" && go build -mod=readonly -trimpath -ldflags "-s -w $named" -o "$1/daprd" ./cmd/daprd
}
key=$(cat "$here/components.go" "$here/go.mod" "$here/go.sum" | sha256sum | cut -c 1-12)
go_program daprd "$version-$key" '5 to 15 minutes' '' build "$@"
