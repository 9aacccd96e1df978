// Command report is the report of the crash trials: report DURATION EXITCODE. It notes in the folder /witness when it starts, is
// told to stop, and ends, each time with its fencing token. It holds a lock as long as it lives, which the kernel takes away with
// the process: one that finds it held notes an overlap.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		code = 100
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) != 2 {
		return 0, fmt.Errorf("want a duration and an exit code, got %q", args)
	}
	work, err := time.ParseDuration(args[0])
	if err != nil {
		return 0, err
	}
	code, err := strconv.Atoi(args[1])
	if err != nil {
		return 0, err
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	lock, err := os.OpenFile("/witness/lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = lock.Close() }() // after the last note
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if err := note("overlap"); err != nil {
			return 0, err
		}
	}
	if err := note("start"); err != nil {
		return 0, err
	}
	select {
	case <-told:
		return 0, note("told")
	case <-time.After(work):
		return code, note("end")
	}
}

// note adds a line in one write, so that two processes cannot mix theirs.
func note(what string) error {
	file, err := os.OpenFile("/witness/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // written by then
	_, err = fmt.Fprintf(file, "%s %s\n", what, os.Getenv("LEASEHOLD_FENCING_TOKEN"))
	return err
}
