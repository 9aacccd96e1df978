//go:build crash

package crash

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// scripts are the writes of a lifecycle in Redis, by the SHA-1 of the script.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for file, name := range map[string]string{
		"acquire.lua": acquire, "release.lua": "RELEASE", "release_owner.lua": "RELEASE-BY-OWNER", "renew.lua": firstRenewal,
	} {
		source, err := os.ReadFile(filepath.Join(root, "internal/lease/redis", file))
		if err != nil {
			t.Fatal(err)
		}
		names[digest(string(source))] = name
	}
	return names
}

const (
	acquire = "ACQUIRE"
	// firstRenewal is the first RENEW that a process sends: what it knows of the lease is confirmed. Those after it change
	// nothing that anybody keeps.
	firstRenewal = "RENEW, the first"
)

func digest(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// redisProxy hands requests and replies on, value by value, and passes those that write a lease of one namespace through a
// gate.
type redisProxy struct {
	server  string
	scope   string
	scripts map[string]string
	gate    *gate

	mu      sync.Mutex
	renewed bool
	granted []string
}

// listen serves until the test ends, and returns its address.
func (p *redisProxy) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(down)
		}
	}()
	return listener.Addr().String()
}

func (p *redisProxy) serve(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer up.Close()
	// Replies come in the order of the requests. A client has far fewer under way than this holds.
	names := make(chan string, 4096)
	go func() {
		defer up.Close()
		p.requests(down, up, names)
	}()
	p.replies(up, down, names)
}

func (p *redisProxy) requests(down, up net.Conn, names chan<- string) {
	for r := bufio.NewReader(down); ; {
		var raw bytes.Buffer
		v, err := readValue(r, &raw)
		if err != nil {
			return
		}
		name := p.name(v)
		if name != "" && !p.gate.enter() {
			return
		}
		names <- name
		if _, err := up.Write(raw.Bytes()); err != nil {
			return
		}
	}
}

func (p *redisProxy) replies(up, down net.Conn, names <-chan string) {
	for r := bufio.NewReader(up); ; {
		var raw bytes.Buffer
		v, err := readValue(r, &raw)
		if err != nil {
			return
		}
		if !p.passes(v, names) {
			return
		}
		if _, err := down.Write(raw.Bytes()); err != nil {
			return
		}
	}
}

// passes says whether a reply may get to the operator. What is pushed answers no request.
func (p *redisProxy) passes(reply value, names <-chan string) bool {
	if reply.kind == '>' {
		return true
	}
	var name string
	select {
	case name = <-names:
	default: // more answers than questions: a subscription
	}
	fields := strings.Split(reply.text, "|")
	if name == "" || reply.kind != '$' || len(fields) < 2 || fields[1] != "ok" {
		return true
	}
	return !p.isNews(name, fields) || p.gate.answered(name)
}

// isNews notes the tokens that are granted, and says whether the write is one of the lifecycle.
func (p *redisProxy) isNews(name string, fields []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == acquire && len(fields) > 2 {
		p.granted = append(p.granted, fields[2])
	}
	known := name == firstRenewal && p.renewed
	p.renewed = p.renewed || name == firstRenewal
	return !known
}

// name is that of a script that writes a lease of the namespace; empty for any other request.
func (p *redisProxy) name(v value) string {
	if len(v.items) < 4 || !strings.Contains(v.items[3].text, p.scope) {
		return ""
	}
	name := ""
	switch strings.ToLower(v.items[0].text) {
	case "evalsha":
		name = p.scripts[v.items[1].text]
	case "eval":
		name = p.scripts[digest(v.items[1].text)]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == firstRenewal && p.renewed {
		return ""
	}
	return name
}

func (p *redisProxy) tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.granted...)
}

// ask sends one command to Redis itself and returns the text of the reply.
func ask(t *testing.T, address string, args ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(request(args...)); err != nil {
		t.Fatal(err)
	}
	reply, err := readValue(bufio.NewReader(conn), &bytes.Buffer{})
	if err != nil || reply.kind == '-' {
		t.Fatalf("redis %v: %s (%v)", args, reply.text, err)
	}
	return reply.text
}
