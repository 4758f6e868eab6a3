// Command grpc-go-client finds a service through the gRPC front of a sidecar: what to write in Go, and in any other language that gRPC
// has, to do without a Diplomat.
//
//	grpc-go-client ADDRESS SERVICE [CHANGES]
//
// It prints the health of the sidecar, one instance to send a request to, and the instances of the service: as they are, and again with
// each change, CHANGES times in all (1 when left out).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "spock.example/grpc-go-client/spockv1pb"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: grpc-go-client ADDRESS SERVICE [CHANGES]")
		os.Exit(2)
	}
	changes := 1
	if len(os.Args) > 3 {
		changes, _ = strconv.Atoi(os.Args[3])
	}
	if err := run(os.Args[1], os.Args[2], changes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, service string, changes int) error {
	// One connection for the whole program. It connects again by itself when the sidecar was restarted.
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()

	if err := health(connection); err != nil {
		return err
	}
	discovery := pb.NewDiscoveryClient(connection)
	if err := get(discovery, service); err != nil {
		return err
	}
	return watch(discovery, service, changes)
}

func health(connection *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	reply, err := healthpb.NewHealthClient(connection).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	fmt.Println("health:", reply.Status)
	return nil
}

// get asks for one instance. A program asks for each request that it sends: the answer is in the sidecar's memory.
func get(discovery pb.DiscoveryClient, service string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var trailer metadata.MD
	reply, err := discovery.Get(ctx, &pb.GetRequest{Service: service}, grpc.WaitForReady(true), grpc.Trailer(&trailer))
	if status.Code(err) == codes.NotFound {
		// The sidecar's own code tells more than the status: docs/GRPC.md has both.
		fmt.Printf("%s: %s: %s\n", service, strings.Join(trailer.Get("spock-code"), ""), status.Convert(err).Message())
		return nil
	}
	if err != nil {
		return err
	}
	age := ""
	if reply.Freshness.Stale {
		age = fmt.Sprintf(" (as it was %d ms ago)", reply.Freshness.AgeMs)
	}
	fmt.Printf("%s: %s:%d%s\n", service, reply.Instance.Host, reply.Instance.Port, age)
	return nil
}

// watch follows the service. A stream that ends with UNAVAILABLE is begun again: the sidecar was restarted, or another has its place.
func watch(discovery pb.DiscoveryClient, service string, changes int) error {
	for changes > 0 {
		told, err := follow(discovery, service, changes)
		changes -= told
		if err != nil && status.Code(err) != codes.Unavailable {
			return err
		}
		if changes > 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func follow(discovery pb.DiscoveryClient, service string, changes int) (told int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := discovery.Watch(ctx, &pb.WatchRequest{Service: service}, grpc.WaitForReady(true))
	if err != nil {
		return 0, err
	}
	for told < changes {
		state, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return told, nil
		}
		if err != nil {
			return told, err
		}
		addresses := []string{}
		for _, instance := range state.Instances {
			if instance.Status == pb.Status_STATUS_PASSING || instance.Status == pb.Status_STATUS_WARNING || state.Freshness.Panic {
				addresses = append(addresses, fmt.Sprintf("%s:%d", instance.Host, instance.Port))
			}
		}
		fmt.Printf("%s: [%s]\n", service, strings.Join(addresses, " "))
		told++
	}
	return told, nil
}
