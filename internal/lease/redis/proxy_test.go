package redis_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and its server and makes replies and requests go wrong.
type proxy struct {
	address string
	server  atomic.Pointer[string]

	// swallowReplies loses the reply to every script, by closing the connection in its place.
	swallowReplies atomic.Bool
	// holdScripts keeps requests with scripts back until releaseScripts.
	holdScripts atomic.Bool
	// extraReply is sent once, before the next reply to a script, so that all later ones are out of step.
	extraReply atomic.Pointer[string]

	mu   sync.Mutex
	held []func() error
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &proxy{address: listener.Addr().String()}
	p.moveTo(server)
	go p.accept(listener)
	return p
}

// moveTo sends later connections to another server.
func (p *proxy) moveTo(server string) { p.server.Store(&server) }

func (p *proxy) accept(listener net.Listener) {
	for {
		down, err := listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", *p.server.Load())
		if err != nil {
			down.Close()
			continue
		}
		var script atomic.Bool
		go p.requests(down, up, &script)
		go p.replies(down, up, &script)
	}
}

// requests passes what the store sends, a write of the client at a time.
func (p *proxy) requests(down, up net.Conn, script *atomic.Bool) {
	defer up.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := down.Read(buffer)
		if err != nil {
			return
		}
		chunk := bytes.Clone(buffer[:n])
		script.Store(bytes.Contains(bytes.ToLower(chunk), []byte("eval")))
		if script.Load() && p.holdScripts.Load() {
			p.mu.Lock()
			p.held = append(p.held, func() error { _, err := up.Write(chunk); return err })
			p.mu.Unlock()
			// The store gives up and closes; the request must still be there to be released.
			_, _ = io.Copy(io.Discard, down)
			select {}
		}
		if _, err := up.Write(chunk); err != nil {
			return
		}
	}
}

func (p *proxy) replies(down, up net.Conn, script *atomic.Bool) {
	defer down.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := up.Read(buffer)
		if err != nil || script.Load() && p.swallowReplies.Load() {
			return
		}
		reply := bytes.Clone(buffer[:n])
		if script.Load() {
			if extra := p.extraReply.Swap(nil); extra != nil {
				reply = append([]byte(*extra), reply...)
			}
		}
		if _, err := down.Write(reply); err != nil {
			return
		}
	}
}

// releaseScripts sends what was held back.
func (p *proxy) releaseScripts(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.held) == 0 {
		t.Fatal("the proxy holds no request back")
	}
	for _, send := range p.held {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	p.held = nil
	p.holdScripts.Store(false)
}
