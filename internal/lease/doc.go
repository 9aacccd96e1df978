// Package lease is the protocol's core: what a lease is, who holds it, and for how long its holder may believe so.
package lease
