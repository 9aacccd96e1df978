package renewal

import (
	"fmt"
	"runtime/debug"
)

// contain runs what others wrote, and makes an error of its panic: one lease, or one listener, must not end the renewal of all
// the others. It is the last resort, and reported.
func (e *Engine) contain(doing string, run func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while %s: %v", doing, cause)
			e.options.Report(fmt.Errorf("%w\n%s", err, debug.Stack()))
		}
	}()
	run()
	return nil
}

// observe tells the results of a batch. A panic costs the result that it came at.
func (e *Engine) observe(results []Result) {
	for i := 0; i < len(results); i++ {
		_ = e.contain("telling the result of a renewal", func() { // reported
			for ; i < len(results); i++ {
				e.options.Observe(results[i])
			}
		})
	}
}

// tell says whose state changed. Who does not want to hear of it is told again at the next look at the clocks.
func (e *Engine) tell(subjects []Subject) {
	for _, subject := range subjects {
		if err := e.contain("telling that a lease changed", func() { e.options.Notify(subject) }); err != nil {
			e.mu.Lock()
			e.unheard = append(e.unheard, subject)
			e.supervisor.expect(e.nextLook)
			e.mu.Unlock()
		}
	}
}
