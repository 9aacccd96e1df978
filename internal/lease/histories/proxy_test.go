package histories

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// weather is what goes wrong with a request on its way, with its odds in a thousand.
var weather = []struct {
	kind string
	odds int
}{
	{"lost request", 8}, {"late request", 5}, {"slow request", 10}, {"lost reply", 12}, {"slow reply", 10},
}

// Bounds of delays: a slow one may still be in time for its sender, a late one is not.
const (
	slowest  = 700 * time.Millisecond
	earliest = 500 * time.Millisecond
	latest   = 4 * time.Second
)

// proxy stands between a client's stores and the server. What it does wrong is drawn for each write of the client.
type proxy struct {
	address, server string
	history         *history
	storms          int // multiplies the odds

	mu     sync.Mutex
	random *rand.Rand
	links  map[*link]struct{}
	away   bool
}

// link is one connection through the proxy.
type link struct {
	down, up net.Conn
	// lose loses the next reply, with the connection; slow holds it back, for as many nanoseconds.
	lose atomic.Bool
	slow atomic.Int64
}

func (l *link) close() {
	_ = l.down.Close() // either side may be closed already
	_ = l.up.Close()
}

func newProxy(t *testing.T, server string, h *history, random *rand.Rand) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String(), server: server, history: h, random: random, links: map[*link]struct{}{}}
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	go p.accept(listener)
	return p
}

func (p *proxy) accept(listener net.Listener) {
	for {
		down, err := listener.Accept()
		if err != nil {
			return
		}
		go p.connect(down)
	}
}

func (p *proxy) connect(down net.Conn) {
	up, err := net.Dial("tcp", p.server)
	if err != nil {
		down.Close()
		return
	}
	l := &link{down: down, up: up}
	p.mu.Lock()
	away := p.away
	if !away {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if away {
		l.close()
		return
	}
	go p.requests(l)
	p.replies(l)
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// setAway cuts the client off from the server, or ends that.
func (p *proxy) setAway(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.cut()
	}
}

// draw decides what goes wrong with a write, and how long that takes.
func (p *proxy) draw() (kind string, slow, late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slow = time.Duration(p.random.Int64N(int64(slowest)))
	late = earliest + time.Duration(p.random.Int64N(int64(latest-earliest)))
	left := p.random.IntN(1000)
	for _, w := range weather {
		if left -= w.odds * p.storms; left < 0 {
			p.history.fault(w.kind)
			return w.kind, slow, late
		}
	}
	return "", slow, late
}

// requests passes what the client sends, a write at a time.
func (p *proxy) requests(l *link) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.down.Read(buffer)
		if err != nil {
			l.close()
			return
		}
		kind, slow, late := p.draw()
		switch kind {
		case "lost request":
			l.close()
			return
		case "late request":
			chunk := bytes.Clone(buffer[:n])
			time.AfterFunc(late, func() { _, _ = l.up.Write(chunk) }) // the server may be gone by then
			// The client gives up and closes; the request must reach the server all the same.
			_, _ = io.Copy(io.Discard, l.down)
			return
		case "slow request":
			<-time.After(slow)
		case "lost reply":
			l.lose.Store(true)
		case "slow reply":
			l.slow.Store(int64(slow))
		}
		if _, err := l.up.Write(buffer[:n]); err != nil {
			l.close()
			return
		}
	}
}

// replies passes what the server sends.
func (p *proxy) replies(l *link) {
	defer l.close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.up.Read(buffer)
		if err != nil || l.lose.Load() {
			return
		}
		if slow := l.slow.Swap(0); slow > 0 {
			<-time.After(time.Duration(slow))
		}
		if _, err := l.down.Write(buffer[:n]); err != nil {
			return
		}
	}
}
