package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// System reads package time and CLOCK_BOOTTIME.
func System() Reading {
	var boot unix.Timespec
	reading := PackageTime()
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err == nil { // a sandbox may lack it
		reading.Boot = time.Duration(boot.Nano())
	}
	return reading
}
