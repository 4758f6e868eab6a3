package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
)

type request struct {
	ID   uint64 `json:"id"`
	Func string `json:"func"`
	Data struct {
		Service string `json:"service"`
	} `json:"data"`
}

type reply struct {
	ID   uint64  `json:"id"`
	Data address `json:"data"`
}

type failure struct {
	// ID is null when the request's could not be read.
	ID    *uint64      `json:"id"`
	Error failureCause `json:"error"`
}

type failureCause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// serveLines is the design as anybody would write it down first: one goroutine for each connection, and each reply
// written by itself. It is left plain on purpose, since it stands for that first version.
func serveLines(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go serveConnection(connection)
	}
}

func serveConnection(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		answer, err := json.Marshal(answerLine(lines.Bytes()))
		if err != nil {
			return
		}
		if _, err := connection.Write(append(answer, '\n')); err != nil {
			return
		}
	}
}

// answerLine returns a reply or a failure.
func answerLine(line []byte) any {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure{Error: failureCause{"BAD_FRAME", err.Error()}}
	}
	if asked.Func != "getService" {
		return failure{&asked.ID, failureCause{"UNKNOWN_FUNC", fmt.Sprintf("there is no function %q", asked.Func)}}
	}
	service := asked.Data.Service
	found, known := services[service]
	if !known {
		return failure{&asked.ID, failureCause{"NO_SUCH_SERVICE", fmt.Sprintf("there is no service %q", service)}}
	}
	return reply{asked.ID, found}
}
