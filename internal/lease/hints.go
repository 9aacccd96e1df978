package lease

import "context"

// Hints tells of releases as they are published, so that who waits for a lease need not ask all the time. A hint may be lost,
// and may come without cause: who waits asks again at the holder's expiry anyway. The methods may be called from any goroutine.
type Hints interface {
	// Watch begins to listen for releases of a scope. A scope that is watched already stays so.
	Watch(scope Scope)
	// Unwatch ends it.
	Unwatch(scope Scope)
	// Run listens until the context ends, through every outage, and then returns nil. It calls hint for each release of a
	// watched scope, and for each watched scope whenever listening to it begins or begins again: what was released before that
	// was not heard. hint must not block for long.
	Run(ctx context.Context, hint func(Scope)) error
}
