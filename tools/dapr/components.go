// Package components is put in the place of a file of the same package in Dapr, which ends the daemon when it is built without components: this
// daemon has one, and is built in minutes.
package components

import (
	"github.com/dapr/components-contrib/pubsub/jetstream"
	"github.com/dapr/dapr/pkg/components/pubsub"
)

func init() {
	pubsub.DefaultRegistry.RegisterComponent(jetstream.NewJetStream, "jetstream")
}
