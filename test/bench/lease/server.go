package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// server is a redis-server of the benchmark's own.
type server struct {
	address, port string
	cmd           *exec.Cmd
	dir           string
}

// startServer starts a redis-server without persistence on a free loopback port.
func startServer(ctx context.Context) (*server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err = errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "leasehold-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{address: address, port: port, dir: dir}
	s.cmd = exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--dir", dir)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("redis-server does not start: %w", err)
	}
	return s, s.await(ctx)
}

// await waits until the server answers.
func (s *server) await(ctx context.Context) error {
	client := goredis.NewClient(&goredis.Options{Addr: s.address})
	defer client.Close()
	var err error
	for range 200 {
		if err = client.Ping(ctx).Err(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("redis-server at %s does not answer: %w", s.address, err)
}

// stop ends the server and removes its directory.
func (s *server) stop() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // and then says how
	_ = os.RemoveAll(s.dir)  // a temporary directory
}
