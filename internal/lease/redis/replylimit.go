package redis

import (
	"errors"
	"fmt"
)

// maxReplyBytes bounds what a server may send between two requests on a connection. The longest that is asked for, the map of a
// Cluster's slots, is some hundred kilobytes; answers of the scripts have less than 5 kilobytes.
const maxReplyBytes = 4 << 20

// maxLengthDigits bounds the length that a reply may announce: the library makes room for what is announced before it reads it.
const maxLengthDigits = 7

var errReplyTooLong = errors.New("the reply belongs to another request, if to any: it is longer than any that was asked for")

// replyLimit watches what a server sends.
type replyLimit struct {
	bytes int
	// digits counts those of a length; lineStart and inLength say what the next byte is.
	digits    int
	lineStart bool
	inLength  bool
}

// request begins anew: the next reply may have its full length.
func (l *replyLimit) request() { l.bytes, l.lineStart, l.inLength = 0, true, false }

// feed looks at what was received, and fails if it is more than a reply may have, or announces more.
func (l *replyLimit) feed(received []byte) error {
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
		l.inLength = b == '$' || b == '*' || b == '%' || b == '~' || b == '=' || b == '!' || b == '>'
	case l.inLength && '0' <= b && b <= '9':
		l.digits++
	default:
		l.inLength = false
	}
	l.lineStart = false
}
