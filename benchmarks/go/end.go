package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// watchForEnd returns a channel that is closed at SIGTERM, or at the end of stdin, which says that the benchmark is
// gone, whatever way it went.
func watchForEnd() <-chan struct{} {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	drained := make(chan struct{})
	go func() {
		// An error ends the watch just as the end of the input does.
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(drained)
	}()
	ended := make(chan struct{})
	go func() {
		select {
		case <-terminated:
		case <-drained:
		}
		close(ended)
	}()
	return ended
}
