package redis_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// link passes the connections of a replica to its primary, until the replica is to hear nothing more.
type link struct {
	address string
	deaf    atomic.Bool
}

func newLink(t *testing.T, primary string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &link{address: listener.Addr().String()}
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", primary)
			if err != nil {
				down.Close()
				continue
			}
			go pass(up, down)
			go pass(hearing{down, l}, up)
		}
	}()
	return l
}

// pass copies until either side ends, and ends the other.
func pass(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, from) // its end is what was waited for
}

// hearing is the way to the replica.
type hearing struct {
	net.Conn
	link *link
}

// Write loses what a deaf replica is told.
func (h hearing) Write(data []byte) (int, error) {
	if h.link.deaf.Load() {
		return len(data), nil
	}
	return h.Conn.Write(data)
}
