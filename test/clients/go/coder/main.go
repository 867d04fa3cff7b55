// The calls with coder/websocket.
package main

import (
	"context"

	"github.com/coder/websocket"

	"tapdeck/test/clients/calls"
)

type socket struct{ *websocket.Conn }

func (it socket) Send(text []byte) error {
	return it.Write(context.Background(), websocket.MessageText, text)
}

func (it socket) Receive() ([]byte, error) {
	_, text, err := it.Read(context.Background())
	return text, err
}

func main() {
	connection, _, err := websocket.Dial(context.Background(), calls.URL, nil)
	calls.Check(err)
	// The library refuses messages above 32 KiB unless it gets another limit.
	connection.SetReadLimit(4 << 20)
	calls.Make(socket{connection})
	calls.Check(connection.Close(websocket.StatusNormalClosure, ""))
}
