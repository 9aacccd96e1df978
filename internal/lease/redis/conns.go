package redis

import (
	"context"
	"net"
	"sync"
)

// connections remembers the open connections of a client, so that all can be dropped when one of them answered something
// that was not meant for the question: replies shifted by one stay shifted for as long as the connection lives.
type connections struct {
	dial dialer

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

func newConnections(dial dialer) *connections {
	return &connections{dial: dial, open: map[*trackedConn]struct{}{}}
}

func (c *connections) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: conn, owner: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[tracked] = struct{}{}
	return tracked, nil
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
}

// Close closes the connection and forgets it.
func (c *trackedConn) Close() error {
	c.owner.forget(c)
	return c.Conn.Close()
}
