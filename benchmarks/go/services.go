package main

// address is where an instance of a service listens.
type address struct {
	Host     string `json:"host"`
	Port     uint32 `json:"port"`
	Instance string `json:"instance"`
}

// services is all that both servers know. It is only read, so that connections may share it without a lock.
var services = map[string]address{
	"barista": {Host: "10.0.0.12", Port: 8765, Instance: "node-1/barista-1"},
}
