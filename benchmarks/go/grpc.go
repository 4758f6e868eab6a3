package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spock.example/bench/discoverypb"
)

type discovery struct {
	discoverypb.UnimplementedDiscoveryServer
}

// GetService answers from the same map as the line protocol, so that the two differ in their wire alone.
func (discovery) GetService(
	_ context.Context, asked *discoverypb.GetServiceRequest,
) (*discoverypb.GetServiceReply, error) {
	found, known := services[asked.GetService()]
	if !known {
		return nil, status.Errorf(codes.NotFound, "there is no service %q", asked.GetService())
	}
	return &discoverypb.GetServiceReply{Host: found.Host, Port: found.Port, Instance: found.Instance}, nil
}

// serveGRPC leaves every option of the server as it comes.
func serveGRPC(listener net.Listener) error {
	server := grpc.NewServer()
	discoverypb.RegisterDiscoveryServer(server, discovery{})
	return server.Serve(listener)
}
