package redis

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// connections remembers the open connections of a client, so that all can be dropped when one of them answered something
// that was not meant for the question: replies shifted by one stay shifted for as long as the connection lives.
type connections struct {
	dial dialer

	mu   sync.Mutex
	open map[*trackedConn]struct{}
	// onLoss is called when a node cannot be connected to, or a connection fails; nil: nobody wants to know.
	onLoss func(context.Context)
}

func newConnections(dial dialer) *connections {
	return &connections{dial: dial, open: map[*trackedConn]struct{}{}}
}

func (c *connections) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		c.lost(ctx)
		return nil, err
	}
	tracked := &trackedConn{Conn: conn, owner: c, limit: newReplyLimit()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[tracked] = struct{}{}
	if socket, ok := conn.(syscall.Conn); ok {
		return checkedConn{tracked, socket}, nil
	}
	return tracked, nil
}

// whenLost has f called, from any goroutine, when a node cannot be connected to, or a connection fails.
func (c *connections) whenLost(f func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onLoss = f
}

func (c *connections) lost(ctx context.Context) {
	c.mu.Lock()
	f := c.onLoss
	c.mu.Unlock()
	if f != nil {
		f(context.WithoutCancel(ctx))
	}
}

// drop closes every open connection. Requests on them end with an unknown outcome.
func (c *connections) drop() {
	c.mu.Lock()
	open := c.open
	c.open = map[*trackedConn]struct{}{}
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // the peer hears of it or not; we are done with it either way
	}
}

func (c *connections) forget(conn *trackedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

type trackedConn struct {
	net.Conn
	owner *connections
	limit *replyLimit
}

// Read reads, and ends the connection when a server sends more than any reply has.
func (c *trackedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.owner.lost(context.Background())
	}
	if tooLong := c.limit.feed(b[:n]); tooLong != nil {
		_ = c.Close() // what follows is of no use either
		return 0, tooLong
	}
	return n, err
}

// Write sends a request, or a part of one.
func (c *trackedConn) Write(b []byte) (int, error) {
	c.limit.request()
	return c.Conn.Write(b)
}

// checkedConn lets the library look at the socket of an idle connection before it is used, so that one that was closed
// meanwhile costs no request. TLS connections have no such check: after a drop, requests on those that lie idle are unknown.
type checkedConn struct {
	*trackedConn
	socket syscall.Conn
}

// SyscallConn is syscall.Conn's.
func (c checkedConn) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }

// Close closes the connection and forgets it.
func (c *trackedConn) Close() error {
	c.owner.forget(c)
	return c.Conn.Close()
}
