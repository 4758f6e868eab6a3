# Sourced by the build.sh of each Go program that the tests or the bench start.

# go_program NAME VERSION TAKES INSTEAD BUILD [--find]: builds NAME once into a cache outside the checkout; the last line of the output is the
# path of the binary. A second run builds nothing, and `--find` never does: it fails when there is none. BUILD is a function that is given an
# empty directory, and puts NAME there. TAKES and INSTEAD end the messages about how long a build takes and what to do without Go.
go_program() {
	local name=$1 version=$2 takes=$3 instead=$4 build=$5
	local directory=${SPOCK_CACHE_DIR:-$HOME/.cache/spock}/$name-$version
	local binary=$directory/$name
	if [ -x "$binary" ]; then
		echo "$binary"
		return
	fi
	if [ "${6:-}" = --find ]; then
		echo "no $name: run \`bash tools/$(basename "$here")/build.sh\` (needs Go 1.26; $takes, once)" >&2
		return 2
	fi
	if ! command -v go >/dev/null; then
		echo "build.sh: Go is needed to build $name and is not on PATH. Install Go 1.26 or later (https://go.dev/dl/)$instead." >&2
		return 2
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$directory"
	echo "building $name $version into $directory: $takes, once" >&2
	"$build" "$work" >&2
	# Into place in one step: an interrupted build leaves no half binary, and two builds at once do not disturb each other.
	cp "$work/$name" "$binary.$$"
	mv "$binary.$$" "$binary"
	echo "$binary"
}
