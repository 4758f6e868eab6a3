// A whole client of the Spock wire protocol in Go, with the standard library alone: id, func, data, one line each way.
//
//	go run . SOCKET SERVICE [SERVICE...]
//
// It asks for all services at once on one connection and prints each answer as it comes: replies may come in any order,
// and the id says which request a reply belongs to. It never says hello, so nothing but replies is ever sent to it. (Over TCP, to
// a sidecar that wants a token, the first line is {"id":0,"func":"hello","data":{"versions":[1],"token":"…"}}.)
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

type request struct {
	ID   uint32            `json:"id"`
	Func string            `json:"func"`
	Data map[string]string `json:"data"`
}

type reply struct {
	ID   *uint32 `json:"id"`
	Data struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	} `json:"data"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func run(path string, services []string) error {
	connection, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}

	asked := map[uint32]string{}
	encoder := json.NewEncoder(connection) // Encode ends every value with a line feed.
	for index, service := range services {
		id := uint32(index + 1)
		asked[id] = service
		if err := encoder.Encode(request{id, "getService", map[string]string{"service": service}}); err != nil {
			return err
		}
	}

	reader := bufio.NewReader(connection) // Not a Scanner: its lines end at 64 KiB, frames at 1 MiB.
	for len(asked) > 0 {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return err
		}
		var answer reply
		if err := json.Unmarshal(line, &answer); err != nil {
			return err
		}
		if answer.ID == nil {
			return fmt.Errorf("the sidecar could not read a request: %s", line)
		}
		service := asked[*answer.ID]
		delete(asked, *answer.ID)
		if answer.Error != nil {
			fmt.Printf("%s: %s (%s)\n", service, answer.Error.Code, answer.Error.Message)
			continue
		}
		fmt.Printf("%s: %s\n", service, net.JoinHostPort(answer.Data.Host, fmt.Sprint(answer.Data.Port)))
	}
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go-client SOCKET SERVICE [SERVICE...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
