package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"spock.example/bench/spockv1pb"
)

// service is what every peer is asked for, and port what it answers.
const (
	service = "barista"
	port    = 8765
)

// loadCommand and loadReport are those of src/load/load.ts; only closed loops are run here.
type loadCommand struct {
	Kind        string
	InFlight    int
	DurationMs  int
	WarmupMs    int
	SampleEvery int64
}

type loadReport struct {
	Calls       int64   `json:"calls"`
	Errors      int64   `json:"errors"`
	ElapsedMs   float64 `json:"elapsedMs"`
	P50Us       float64 `json:"p50Us"`
	P99Us       float64 `json:"p99Us"`
	P999Us      float64 `json:"p999Us"`
	MaxUs       float64 `json:"maxUs"`
	ClientCPUUs float64 `json:"clientCpuUs"`
	ServerCPUUs float64 `json:"serverCpuUs"`
}

// load calls the gRPC front of a sidecar: a report for each command that comes on stdin, until its end.
func load(address, serverPid string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := spockv1pb.NewDiscoveryClient(connection)
	call := func(options ...grpc.CallOption) error {
		reply, err := client.Get(context.Background(), &spockv1pb.GetRequest{Service: service}, options...)
		if err == nil && reply.Instance.Port != port {
			err = fmt.Errorf("answered %v", reply)
		}
		return err
	}
	// The server may be starting still.
	if err := call(grpc.WaitForReady(true)); err != nil {
		return err
	}
	fmt.Println(`{"ready":true}`)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command loadCommand
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
			return err
		}
		if command.Kind != "closed" {
			return fmt.Errorf("only closed loops are run here, not %q", command.Kind)
		}
		report, err := json.Marshal(closedLoop(func() error { return call() }, command, serverPid))
		if err != nil {
			return err
		}
		fmt.Println(string(report))
	}
	return lines.Err()
}

// closedLoop runs a number of callers, each of which makes its next call when the last one is answered.
func closedLoop(call func() error, command loadCommand, serverPid string) loadReport {
	var running, open atomic.Bool
	var made, calls, errors atomic.Int64
	samples := make([][]float64, command.InFlight)
	running.Store(true)
	var callers sync.WaitGroup
	for index := range command.InFlight {
		callers.Go(func() {
			for running.Load() {
				isSampled := made.Add(1)%command.SampleEvery == 0
				var started time.Time
				if isSampled {
					started = time.Now()
				}
				err := call()
				if !open.Load() {
					continue
				}
				if err != nil {
					errors.Add(1)
					continue
				}
				calls.Add(1)
				if isSampled {
					samples[index] = append(samples[index], float64(time.Since(started).Nanoseconds())/1000)
				}
			}
		})
	}
	time.Sleep(time.Duration(command.WarmupMs) * time.Millisecond)
	clientBefore, serverBefore := processorTimeUs("self"), processorTimeUs(serverPid)
	opened := time.Now()
	open.Store(true)
	time.Sleep(time.Duration(command.DurationMs) * time.Millisecond)
	open.Store(false)
	elapsed := time.Since(opened)
	client, server := processorTimeUs("self")-clientBefore, processorTimeUs(serverPid)-serverBefore
	running.Store(false)
	callers.Wait()
	all := []float64{}
	for _, some := range samples {
		all = append(all, some...)
	}
	sort.Float64s(all)
	percentile := func(share float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return all[min(len(all)-1, int(share*float64(len(all))))]
	}
	return loadReport{
		Calls: calls.Load(), Errors: errors.Load(), ElapsedMs: float64(elapsed.Nanoseconds()) / 1e6,
		P50Us: percentile(0.5), P99Us: percentile(0.99), P999Us: percentile(0.999), MaxUs: percentile(1),
		ClientCPUUs: client, ServerCPUUs: server,
	}
}

// processorTimeUs is the time that all threads of a process have had on a processor, as the scheduler counts it.
func processorTimeUs(pid string) float64 {
	var nanoseconds float64
	threads, _ := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
	for _, thread := range threads {
		// A thread that has ended meanwhile takes its time along.
		text, err := os.ReadFile(thread)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(text), " ")
		value, _ := strconv.ParseFloat(first, 64)
		nanoseconds += value
	}
	return nanoseconds / 1000
}
