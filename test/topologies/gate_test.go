//go:build topologies

package topologies

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// gate passes connections to a server, until it is shut. What comes then waits, as in a network that is split.
type gate struct {
	address string
	// swallow loses the replies to scripts, by closing the connection in their place.
	swallow atomic.Bool

	mu     sync.Mutex
	server string
	open   chan struct{} // closed while the gate is open
	conns  []net.Conn
}

// newGate makes an open gate that leads nowhere yet.
func newGate(t *testing.T) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{address: listener.Addr().String(), open: make(chan struct{})}
	close(g.open)
	var serving sync.WaitGroup
	serving.Go(func() { g.serve(listener, &serving) })
	t.Cleanup(func() {
		_ = listener.Close()
		g.end()
		serving.Wait()
	})
	return g
}

func (g *gate) leadTo(server string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = server
}

func (g *gate) serve(listener net.Listener, serving *sync.WaitGroup) {
	for {
		down, err := listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		up, err := net.Dial("tcp", g.server)
		if err != nil {
			_ = down.Close()
		} else {
			g.conns = append(g.conns, down, up)
			script := &atomic.Bool{}
			serving.Go(func() { g.pass(up, down, script, false) })
			serving.Go(func() { g.pass(down, up, script, true) })
		}
		g.mu.Unlock()
	}
}

// pass copies one way. script says whether the last request had one.
func (g *gate) pass(to, from net.Conn, script *atomic.Bool, back bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		<-g.opened()
		if !back {
			script.Store(bytes.Contains(bytes.ToLower(buffer[:n]), []byte("eval")))
		} else if script.Load() && g.swallow.Load() {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (g *gate) opened() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// end closes all connections, and opens the gate if it is shut.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		_ = conn.Close() // it may be closed already
	}
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}
