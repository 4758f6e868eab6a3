#!/usr/bin/env bash
# Builds the broker that the bench measures a client of Kafka against, once for each state of its sources, into a cache outside the checkout.
# The last line of its output is the path of the binary. `--find` builds nothing, and fails when there is none.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
key=$(cat "$here/main.go" "$here/go.mod" "$here/go.sum" | sha256sum | cut -c 1-12)
directory=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/kfake-$key
binary=$directory/kfake

if [ -x "$binary" ]; then
	echo "$binary"
	exit 0
fi
if [ "${1:-}" = --find ]; then
	echo "no kfake: run \`bash tools/kfake/build.sh\` (needs Go 1.26; about a minute, once)" >&2
	exit 2
fi
if ! command -v go >/dev/null; then
	echo "build.sh: Go is needed to build kfake and is not on PATH: install Go 1.26 or later (https://go.dev/dl/)." >&2
	exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory"
echo "building kfake into $directory: about a minute, once" >&2
(cd "$here" && go build -mod=readonly -trimpath -o "$work/kfake" .) >&2
# Into place in one step: an interrupted build leaves no half binary, and two builds at once do not disturb each other.
cp "$work/kfake" "$binary.$$"
mv "$binary.$$" "$binary"
echo "$binary"
