#!/usr/bin/env bash
# Builds Dapr's daemon with its JetStream component and no other, which the bench measures, once for each state of these sources, into a cache
# outside the checkout. The last line of its output is the path of the binary. `--find` builds nothing, and fails when there is none.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(sed -n 's|^require github.com/dapr/dapr v||p' "$here/go.mod")
key=$(cat "$here/components.go" "$here/go.mod" "$here/go.sum" | sha256sum | cut -c 1-12)
directory=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/daprd-$version-$key
binary=$directory/daprd

if [ -x "$binary" ]; then
	echo "$binary"
	exit 0
fi
if [ "${1:-}" = --find ]; then
	echo "no daprd: run \`bash tools/dapr/build.sh\` (needs Go 1.26; 5 to 15 minutes, once)" >&2
	exit 2
fi
if ! command -v go >/dev/null; then
	echo "build.sh: Go is needed to build daprd $version and is not on PATH: install Go 1.26 or later (https://go.dev/dl/)." >&2
	exit 2
fi

# In a copy of the module, because a file of it is replaced. There its own go.mod counts, with what it replaces, and its own go.sum.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$(cd "$here" && go mod download -json github.com/dapr/dapr | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -R "$source" "$work/dapr"
chmod -R u+w "$work/dapr"
cp "$here/components.go" "$work/dapr/cmd/daprd/components/zz_notag.go"
mkdir -p "$directory"
echo "building daprd $version into $directory: 5 to 15 minutes, once" >&2
named="-X github.com/dapr/dapr/pkg/buildinfo.version=$version"
(cd "$work/dapr" && go build -mod=readonly -trimpath -ldflags "-s -w $named" -o "$work/daprd" ./cmd/daprd) >&2
# Into place in one step: an interrupted build leaves no half binary, and two builds at once do not disturb each other.
cp "$work/daprd" "$binary.$$"
mv "$binary.$$" "$binary"
echo "$binary"
