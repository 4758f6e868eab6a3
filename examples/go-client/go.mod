module spock.example/go-client

go 1.19
