// The release of Dapr that the bench measures, from the Go module proxy. tools/dapr/build.sh builds its daemon, with Dapr's own go.mod.
module spock.test/tools/dapr

go 1.26

require github.com/dapr/dapr v1.14.0
