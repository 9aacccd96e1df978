package redis

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
)

// maxReplyBytes bounds what a server may send between two requests on a connection. The longest that is asked for, the map of a
// Cluster's slots, is some hundred kilobytes; answers of the scripts have less than 5 kilobytes.
const maxReplyBytes = 4 << 20

// maxLengthDigits bounds the length that a reply may announce: the library makes room for what is announced before it reads it.
const maxLengthDigits = 7

var errReplyTooLong = errors.New("the reply belongs to another request, if to any: it is longer than any that was asked for")

// lengthMarks begin the lines that announce a length: of strings, lists, maps, sets and pushes.
var lengthMarks = []byte("$*%~=!>")

// replyLimit watches what a server sends.
type replyLimit struct {
	// requested says that a request was sent since the last look: a subscription writes while it is read.
	requested atomic.Bool

	bytes int
	// digits counts those of a length; lineStart and inLength say what the next byte is.
	digits    int
	lineStart bool
	inLength  bool
}

// newReplyLimit begins with a line.
func newReplyLimit() *replyLimit { return &replyLimit{lineStart: true} }

// request begins anew: the next reply may have its full length.
func (l *replyLimit) request() { l.requested.Store(true) }

// feed looks at what was received, and fails if it is more than a reply may have, or announces more.
func (l *replyLimit) feed(received []byte) error {
	if l.requested.Swap(false) {
		l.bytes = 0
	}
	if l.bytes += len(received); l.bytes > maxReplyBytes {
		return fmt.Errorf("%w: more than %d bytes", errReplyTooLong, maxReplyBytes)
	}
	for _, b := range received {
		if l.announces(b); l.digits > maxLengthDigits {
			return fmt.Errorf("%w: it announces more than %d digits of length", errReplyTooLong, maxLengthDigits)
		}
	}
	return nil
}

// announces counts the digits of a length, which stands at the start of a line behind the mark of a string, a list or a map.
func (l *replyLimit) announces(b byte) {
	switch {
	case b == '\n':
		l.lineStart, l.inLength, l.digits = true, false, 0
		return
	case l.lineStart:
		l.inLength = bytes.IndexByte(lengthMarks, b) >= 0
	case l.inLength && '0' <= b && b <= '9':
		l.digits++
	default:
		l.inLength = false
	}
	l.lineStart = false
}
