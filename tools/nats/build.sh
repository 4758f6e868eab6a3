#!/usr/bin/env bash
# Builds the NATS server that the tests talk to, once, into a cache outside the checkout. The last line of its output is
# the path of the binary. A second run finds it and builds nothing.
set -euo pipefail

version=2.15.2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
directory=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/nats-server-$version
binary=$directory/nats-server

if [ -x "$binary" ]; then
	echo "$binary"
	exit 0
fi
if ! command -v go >/dev/null; then
	echo "build.sh: Go is needed to build nats-server $version and is not on PATH." >&2
	echo "Install Go 1.26 or later (https://go.dev/dl/), or name a nats-server with NATS_BIN." >&2
	exit 2
fi

# In a copy, because -mod=mod may write to go.mod and go.sum, and a build must not change the checkout.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/go.mod" "$here/go.sum" "$work/"
mkdir -p "$directory"
echo "building nats-server $version into $directory: about a minute, once" >&2
(cd "$work" && go build -mod=mod -o "$work/nats-server" github.com/nats-io/nats-server/v2) >&2
# Into place in one step: an interrupted build leaves no half binary, and two builds at once do not disturb each other.
cp "$work/nats-server" "$binary.$$"
mv "$binary.$$" "$binary"
echo "$binary"
