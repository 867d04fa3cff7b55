// The calls with gorilla/websocket.
package main

import (
	"github.com/gorilla/websocket"

	"tapdeck/test/clients/calls"
)

type socket struct{ *websocket.Conn }

func (it socket) Send(text []byte) error {
	return it.WriteMessage(websocket.TextMessage, text)
}

func (it socket) Receive() ([]byte, error) {
	_, text, err := it.ReadMessage()
	return text, err
}

func main() {
	connection, _, err := websocket.DefaultDialer.Dial(calls.URL, nil)
	calls.Check(err)
	defer connection.Close()
	calls.Make(socket{connection})
}
