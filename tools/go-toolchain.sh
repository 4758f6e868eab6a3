#!/usr/bin/env bash
# Prints the directory of a `go` that can build the real servers of the tests: the one on PATH if it is 1.21 or later (which fetches the version
# that a go.mod asks for), else one from the Go module proxy, fetched with Debian's older Go. Needs root only for that.
set -euo pipefail
version=1.26.8
minor() { go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p'; }

if command -v go >/dev/null && [ "$(minor)" -ge 21 ]; then
	dirname "$(command -v go)"
	exit 0
fi
target=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/go-$version
if [ ! -x "$target/bin/go" ]; then
	if ! command -v go >/dev/null; then
		apt-get update -q >&2
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends golang-go >&2
	fi
	work=$(mktemp -d)
	trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
	cd "$work"
	# A toolchain is a module like any other; an old Go downloads it without knowing what it is.
	GOPATH=$work/path GOFLAGS=-mod=mod go mod download "golang.org/toolchain@v0.0.1-go$version.linux-amd64" >&2
	mkdir -p "$(dirname "$target")"
	cp -R "$work/path/pkg/mod/golang.org/toolchain@v0.0.1-go$version.linux-amd64" "$target.new"
	chmod -R u+w "$target.new"
	chmod +x "$target.new"/bin/* "$target.new"/pkg/tool/*/*
	mv "$target.new" "$target"
fi
printf '%s\n' "$target/bin"
