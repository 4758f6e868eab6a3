// Command kfake is one broker that speaks Kafka's protocol and keeps its topics on disk, and a reader of what it has.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	module = "github.com/twmb/franz-go/pkg/kfake"
	usage  = "usage: kfake serve DIRECTORY PORT TOPIC | kfake read ADDRESS TOPIC | kfake --version"
)

// A reader that gets nothing for so long gives up: the broker is gone.
const patience = time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 4 && arguments[0] == "serve":
		return serve(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 3 && arguments[0] == "read":
		return read(arguments[1], arguments[2])
	case len(arguments) == 1 && arguments[0] == "--version":
		return version()
	default:
		return errors.New(usage)
	}
}

// serve runs the broker until its standard input ends. The topic has one partition. It is there before the first client is: a topic that a
// client makes by asking for it is on disk only after an orderly end.
func serve(directory, port, topic string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("the port %q is not a number", port)
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(number),
		kfake.DataDir(directory),
		kfake.SeedTopics(1, topic),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelWarn)),
	)
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Println("ready", cluster.ListenAddrs()[0])
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// read writes the values of all records of the topic's one partition, a line for each, in their order.
func read(address, topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	end, found := ends.Lookup(topic, 0)
	if !found {
		return fmt.Errorf("there is no topic %q", topic)
	}
	if end.Err != nil {
		return end.Err
	}
	lines := bufio.NewWriter(os.Stdout)
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			fmt.Fprintf(lines, "%s\n", record.Value)
			next = record.Offset + 1
		})
	}
	return lines.Flush()
}

// version writes that of the broker's module.
func version() error {
	build, _ := debug.ReadBuildInfo()
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			fmt.Println(dependency.Version)
			return nil
		}
	}
	return fmt.Errorf("it is built without %s", module)
}
