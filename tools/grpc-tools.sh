#!/usr/bin/env bash
# Prints a directory with `grpcurl`, `grpc_health_probe`, `protoc-gen-go` and `protoc-gen-go-grpc`, built from the Go module proxy
# when they are not there yet. Needs `go` on PATH: see go-toolchain.sh.
set -euo pipefail
programs=(
	'grpcurl github.com/fullstorydev/grpcurl cmd/grpcurl v1.9.3'
	'grpc_health_probe github.com/grpc-ecosystem/grpc-health-probe . v0.4.38'
	'protoc-gen-go google.golang.org/protobuf cmd/protoc-gen-go v1.36.12'
	'protoc-gen-go-grpc google.golang.org/grpc/cmd/protoc-gen-go-grpc . v1.6.2'
)
key=$(printf '%s\n' "${programs[@]}" | sha256sum | cut -c 1-12)
target=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/grpc-tools-$key
if [ ! -e "$target/complete" ]; then
	work=$(mktemp -d)
	trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
	mkdir -p "$work/bin"
	for program in "${programs[@]}"; do
		read -r name module package version <<<"$program"
		mkdir -p "$work/$name"
		cd "$work/$name"
		# In a module of its own: `go install` asks the proxy for the list of versions too, which it has not for every module.
		printf 'module spock.example/tools\n\ngo 1.24\n\nrequire %s %s\n' "$module" "$version" >go.mod
		path=$module
		[ "$package" = . ] || path=$module/$package
		GOFLAGS=-mod=mod go build -v -trimpath -o "$work/bin/$name" "$path" >&2
	done
	touch "$work/bin/complete"
	mkdir -p "$(dirname "$target")"
	rm -rf "$target"
	cp -R "$work/bin" "$target"
fi
printf '%s\n' "$target"
