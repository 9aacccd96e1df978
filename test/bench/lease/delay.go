package main

import (
	"context"
	"io"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// added is by how much a reply is delayed.
const added = time.Millisecond

// measureDelay compares the engine with one renewal after the other, behind a proxy that delays what the server says and keeps
// its order, as a network does.
func measureDelay(ctx context.Context, p plan) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := hold(ctx, s.address, p.leases); err != nil {
		return err
	}
	address, err := delayed(ctx, s.address)
	if err != nil {
		return err
	}
	store := redis.New(redis.Options{Address: address})
	defer store.Close()
	client := goredis.NewClient(&goredis.Options{Addr: address})
	defer client.Close()
	rates, err := rounds(ctx, p, []contender{
		{"delayed", func(ctx context.Context, d time.Duration) (float64, error) {
			return renewByEngine(ctx, store, p.leases, d)
		}},
		{"sequential", func(ctx context.Context, d time.Duration) (float64, error) { return oneByOne(ctx, client, d) }},
	})
	if err != nil {
		return err
	}
	report("renew_delay_vs_sequential", median(ratios(rates["delayed"], rates["sequential"])))
	return nil
}

// oneByOne renews by a script that compares and extends, and waits for each answer.
func oneByOne(ctx context.Context, client *goredis.Client, d time.Duration) (float64, error) {
	script := goredis.NewScript(
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
	key, value := termOf(0).Scope.LeaseKey(), termOf(0).Value()
	return inParallel(ctx, d, 1, func(ctx context.Context, _ int) func() (int, error) {
		return func() (int, error) { return 1, script.Run(ctx, client, []string{key}, value, ttl.Milliseconds()).Err() }
	})
}

// delayed starts a proxy in front of a server. It ends with the context.
func delayed(ctx context.Context, server string) (address string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() }) // accept ends by it
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			up, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
			if err != nil {
				_ = down.Close() // the client sees it
				continue
			}
			go func() { _, _ = io.Copy(up, down); _ = up.Close() }() // until either side ends
			go slowly(down, up)
		}
	}()
	return listener.Addr().String(), nil
}

// piece is what the server said at once, and when it may be passed on.
type piece struct {
	due  time.Time
	data []byte
}

// slowly passes on what the server says, each piece after the delay.
func slowly(down net.Conn, up io.Reader) {
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			n, err := up.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(added), append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	}()
	defer down.Close()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := down.Write(p.data); err != nil {
			return
		}
	}
}
