// Package calls makes the calls of the table over a WebSocket of one library, and prints a line of JSON for each.
// Arguments: the address of the service and the file of the table.
package calls

import (
	"encoding/json"
	"fmt"
	"os"
)

// Socket is a WebSocket of a library.
type Socket interface {
	Send(text []byte) error
	Receive() ([]byte, error)
}

type request struct {
	Version string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`

	After          *int `json:"after,omitempty"`
	IsNotification bool `json:"isNotification,omitempty"`
}

type entry struct {
	Call    string          `json:"call"`
	Send    json.RawMessage `json:"send"`
	IsBatch bool            `json:"isBatch"`
	Hears   []struct {
		Method string `json:"method"`
	} `json:"hears"`
}

type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type line struct {
	Call    string        `json:"call"`
	Answers []interface{} `json:"answers"`
	Order   []interface{} `json:"order"`
	Heard   []message     `json:"heard"`
}

// URL is the address of the service.
var URL = os.Args[1]

// Check ends the program on an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Make makes all calls.
func Make(socket Socket) {
	text, err := os.ReadFile(os.Args[2])
	Check(err)
	var table []entry
	Check(json.Unmarshal(text, &table))
	for number, one := range table {
		printed, err := json.Marshal(makeCall(socket, one, number))
		Check(err)
		fmt.Println(string(printed))
	}
}

func makeCall(socket Socket, one entry, number int) line {
	call := exchange{socket: socket, line: line{Call: one.Call, Order: []interface{}{}, Heard: []message{}}}
	if string(one.Send) == `"ping"` {
		Check(socket.Send([]byte("ping")))
		for !call.pong {
			call.receive()
		}
		call.line.Answers = []interface{}{"pong"}
		return call.line
	}
	Check(json.Unmarshal(one.Send, &call.requests))
	call.line.Answers = make([]interface{}, len(call.requests))
	payloads := make([]request, len(call.requests))
	for at := range call.requests {
		request := &call.requests[at]
		request.Version = "2.0"
		if request.ID == nil && !request.IsNotification {
			request.ID = json.RawMessage(fmt.Sprint(100*number + at))
		}
		payloads[at] = request.payload()
	}
	if one.IsBatch {
		call.send(payloads)
	} else {
		for at, request := range call.requests {
			for request.After != nil && call.line.Answers[*request.After] == nil {
				call.receive()
			}
			call.send(payloads[at])
		}
	}
	for at, request := range call.requests {
		for !request.IsNotification && call.line.Answers[at] == nil {
			call.receive()
		}
	}
	for _, awaited := range one.Hears {
		for !call.hasHeard(awaited.Method) {
			call.receive()
		}
	}
	return call.line
}

// The request without the fields of the table.
func (one request) payload() request {
	one.After, one.IsNotification = nil, false
	return one
}

type exchange struct {
	socket   Socket
	requests []request
	line     line
	pong     bool
}

func (call *exchange) send(payload interface{}) {
	text, err := json.Marshal(payload)
	Check(err)
	Check(call.socket.Send(text))
}

func (call *exchange) receive() {
	text, err := call.socket.Receive()
	Check(err)
	if string(text) == "pong" {
		call.pong = true
		return
	}
	if text[0] != '[' {
		var one message
		Check(json.Unmarshal(text, &one))
		call.take(one)
		return
	}
	var all []message
	Check(json.Unmarshal(text, &all))
	for _, one := range all {
		call.take(one)
	}
}

func (call *exchange) take(one message) {
	if one.Method != "" {
		call.line.Heard = append(call.line.Heard, one)
		call.line.Order = append(call.line.Order, one.Method)
		return
	}
	place := -1
	for at, request := range call.requests {
		if request.ID != nil && string(request.ID) == string(one.ID) {
			place = at
			call.line.Answers[at] = answer{one.Result, one.Error}
		}
	}
	call.line.Order = append(call.line.Order, place)
}

func (call *exchange) hasHeard(method string) bool {
	for _, one := range call.line.Heard {
		if one.Method == method {
			return true
		}
	}
	return false
}
