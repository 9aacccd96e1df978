package redis_test

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link passes connections to a server.
type link struct {
	address string
	// deaf loses what the server says.
	deaf atomic.Bool
	// ahead is added to the server's time, in seconds.
	ahead atomic.Int64

	mu     sync.Mutex
	server string
	open   []net.Conn
}

func newLink(t *testing.T, server string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &link{address: listener.Addr().String(), server: server}
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			l.join(down)
		}
	}()
	return l
}

func (l *link) join(down net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	up, err := net.Dial("tcp", l.server)
	if err != nil {
		down.Close()
		return
	}
	l.open = append(l.open, down)
	go pass(up, down)
	go pass(spoiled{down, l}, up)
}

// leadTo lets another server answer, and ends the connections to the one before.
func (l *link) leadTo(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	for _, conn := range l.open {
		conn.Close()
	}
	l.open = nil
}

// pass copies until either side ends, and ends the other.
func pass(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, from) // its end is what was waited for
}

// spoiled is the way back from the server.
type spoiled struct {
	net.Conn
	link *link
}

// serverTime is a reply to TIME.
var serverTime = regexp.MustCompile(`^\*2\r\n\$10\r\n(\d{10})\r\n`)

// Write changes or loses what the server says.
func (s spoiled) Write(data []byte) (int, error) {
	if s.link.deaf.Load() {
		return len(data), nil
	}
	if found := serverTime.FindSubmatch(data); found != nil {
		seconds, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			return 0, err
		}
		changed := fmt.Appendf(nil, "*2\r\n$10\r\n%010d\r\n%s", seconds+s.link.ahead.Load(), data[len(found[0]):])
		_, err = s.Conn.Write(changed)
		return len(data), err
	}
	return s.Conn.Write(data)
}

// jump puts the server's clock forward or back.
func (l *link) jump(by time.Duration) { l.ahead.Add(int64(by / time.Second)) }
