// Package clock tells how much time has passed, also while the machine slept, and notices when clocks do not agree.
//
// # Clocks
//
// Linux has three clocks that matter here:
//
//	CLOCK_MONOTONIC  what package time measures with; it stands still while the machine is suspended
//	CLOCK_BOOTTIME   the same, and it runs on while the machine is suspended
//	CLOCK_REALTIME   the wall clock; it is stepped by people and by NTP
//
// None of them counts a pause of the whole virtual machine, except that some hypervisors step the wall clock afterwards.
//
// # Now
//
//	Now = base + max(monotonic elapsed, boot time elapsed)
//
// So a lease that ended while the machine slept has ended when it wakes. The maximum never goes back, as neither part does. A
// Clock without boot time, as on another system than Linux, is package time.
//
// Instants of a Clock carry a monotonic reading, and compare with each other and with those of package time: until the first
// suspend they are the same ones, and later those of package time are too early. An instant before which something happened may
// therefore be taken from either.
//
// # Divergence
//
// A Watch compares how far the wall clock and the monotonic clock went since it last looked. If they differ by more than
// MaxDivergence, one of them did not tell the time: the machine was suspended, or paused by its hypervisor, or the wall clock
// was stepped. Which of them it was cannot be told from here. Whoever relies on time verifies what he believes.
//
//	what happened                monotonic   boot time   wall        Now        Watch
//	nothing                      runs        runs        runs        runs       agrees
//	suspend                      stands      runs        runs        goes on    differs
//	pause by the hypervisor      stands      stands      is stepped  stands     differs, once the wall clock is right again
//	wall clock stepped           runs        runs        is stepped  runs       differs
//	wall clock slewed by NTP     runs (slewed as well)   runs        runs       agrees
package clock
