package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// waiterCommand is the first argument of the process that waits.
const waiterCommand = "waiter"

// library is one way to hold and to wait for a lock that both processes know by the same name.
type library interface {
	// hold takes the lock, which nobody holds, and returns what gives it back.
	hold(ctx context.Context) (release func() error, err error)
	// wait calls ready when it waits, and returns when it has the lock.
	wait(ctx context.Context, ready func()) (release func() error, err error)
	close()
}

var libraries = []struct {
	name string
	open func(ctx context.Context, address string) (library, error)
}{
	{"", openLeasehold}, {"redislock_", openRedislock}, {"rueidislock_", openRueidislock},
}

// measureHandoff times from before a release in this process to the grant in another one that waits. Both read the machine's
// monotonic clock. The libraries have their turns one after the other.
func measureHandoff(ctx context.Context, p plan) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	holders, waiters := make([]library, len(libraries)), make([]*waiter, len(libraries))
	for i, l := range libraries {
		if holders[i], err = l.open(ctx, s.address); err != nil {
			return err
		}
		defer holders[i].close()
		if waiters[i], err = startWaiter(ctx, s.address, i); err != nil {
			return err
		}
		defer waiters[i].stop()
	}
	took := make([][]float64, len(libraries))
	for range p.handoffs {
		for i := range libraries {
			ms, err := handOver(ctx, holders[i], waiters[i])
			if err != nil {
				return fmt.Errorf("%shandoff: %w", libraries[i].name, err)
			}
			took[i] = append(took[i], ms)
		}
	}
	for i, l := range libraries {
		report(l.name+"handoff_ms_p50", median(took[i]))
		report(l.name+"handoff_ms_p99", quantile(took[i], 0.99))
	}
	return nil
}

// handOver releases a lock that the other process waits for, at any time of its wait, and returns how many ms later it had it.
func handOver(ctx context.Context, holder library, w *waiter) (float64, error) {
	release, err := holder.hold(ctx)
	if err != nil {
		return 0, err
	}
	if err := w.say("wait"); err != nil {
		return 0, err
	}
	if _, err := w.hear("waiting"); err != nil {
		return 0, err
	}
	wait(ctx, 20*time.Millisecond+rand.N(100*time.Millisecond))
	released := monotonic()
	if err := release(); err != nil {
		return 0, err
	}
	text, err := w.hear("granted")
	if err != nil {
		return 0, err
	}
	granted, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, err
	}
	_, err = w.hear("released")
	return float64(granted-released) / 1e6, err
}

// monotonic is the machine's monotonic clock in ns: the same for all processes.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every Linux has it
	return t.Nano()
}

// waiter is the other process.
type waiter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWaiter(ctx context.Context, address string, library int) (*waiter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, waiterCommand, address, strconv.Itoa(library))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &waiter{cmd, in, bufio.NewScanner(out)}, cmd.Start()
}

func (w *waiter) say(what string) error {
	_, err := fmt.Fprintln(w.in, what)
	return err
}

func (w *waiter) hear(what string) (rest string, err error) {
	if !w.out.Scan() {
		return "", fmt.Errorf("the process that waits ended, and was to say %q: %w", what, w.out.Err())
	}
	rest, ok := strings.CutPrefix(w.out.Text(), what)
	if !ok {
		return "", fmt.Errorf("the process that waits said %q, and was to say %q", w.out.Text(), what)
	}
	return strings.TrimSpace(rest), nil
}

// stop ends the process: it ends when nobody speaks to it any more.
func (w *waiter) stop() {
	_ = w.in.Close() // it may have ended
	_ = w.cmd.Wait() // and says why itself
}

// waiterMain is the other process: it waits whenever it is told to, says when it was granted the lock, and gives it back.
func waiterMain(args []string) int {
	if err := waitForOrders(context.Background(), args); err != nil {
		fmt.Fprintf(os.Stderr, "waiter: %v\n", err)
		return 1
	}
	return 0
}

func waitForOrders(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%q: an address and the number of a library are needed", args)
	}
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	l, err := libraries[number].open(ctx, args[0])
	if err != nil {
		return err
	}
	defer l.close()
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		release, err := l.wait(ctx, func() { fmt.Println("waiting") })
		if err != nil {
			return err
		}
		fmt.Println("granted", monotonic())
		if err := release(); err != nil {
			return err
		}
		fmt.Println("released")
	}
	return nil
}
