// Command peers is what Spock is measured beside: the same lookup, answered by a plain line protocol and by gRPC.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

//go:generate protoc --proto_path=../proto --go_out=. --go_opt=module=spock.example/bench,Mdiscovery.proto=spock.example/bench/discoverypb --go-grpc_out=. --go-grpc_opt=module=spock.example/bench,Mdiscovery.proto=spock.example/bench/discoverypb discovery.proto

const usage = "usage: peers readline PATH | peers grpc unix:PATH | peers grpc tcp:HOST:PORT | peers load ADDRESS SERVER_PID"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 3 && arguments[0] == "load" {
		return load(arguments[1], arguments[2])
	}
	if len(arguments) != 2 {
		return errors.New(usage)
	}
	switch mode, address := arguments[0], arguments[1]; mode {
	case "readline":
		return listenAndServe("unix", address, serveLines)
	case "grpc":
		network, rest, found := strings.Cut(address, ":")
		if !found || (network != "unix" && network != "tcp") {
			return errors.New(usage)
		}
		return listenAndServe(network, rest, serveGRPC)
	default:
		return errors.New(usage)
	}
}

// listenAndServe serves until it is time to end. The end closes the listener, which removes a socket's file too.
func listenAndServe(network, address string, serve func(net.Listener) error) error {
	ended := watchForEnd()
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer listener.Close()
	fmt.Println("ready", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}
