package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// Observe runs observe.lua.
func (s *Store) Observe(ctx context.Context, scope lease.Scope) (lease.Observation, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	t0 := time.Now()
	text, err := s.control.ask(ctx, observeScript, question{
		keys: []string{scope.LeaseKey()}, nonce: s.control.nonces.next(),
	})
	if err != nil {
		return lease.Observation{}, s.settled(err)
	}
	code, rest, _ := strings.Cut(text, "|")
	switch code {
	case "ok":
		left, value, _ := strings.Cut(rest, "|")
		owner, token := lease.SplitValue(value)
		return lease.Observation{Owner: owner, Token: token, ExpiresIn: remaining(left), At: t0}, nil
	case "gone":
		return lease.Observation{}, &lease.LostError{Scope: scope}
	}
	return lease.Observation{}, s.strange(text)
}

// Complete runs complete.lua.
func (s *Store) Complete(ctx context.Context, request lease.CompleteRequest) (lease.Completion, error) {
	if err := request.Validate(); err != nil {
		return lease.Completion{}, &lease.NotExecutedError{Address: s.address, Cause: err}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	scope := request.Term.Scope
	text, err := s.control.ask(ctx, completeScript, question{
		keys:  []string{scope.LeaseKey(), scope.FenceKey(), scope.DoneKey(request.Occurrence)},
		nonce: s.control.nonces.next(),
		args: []any{string(request.Term.Owner), request.Term.Token.String(), request.Inputs, request.Digest, request.Location,
			request.Retention.Milliseconds()},
	})
	if err != nil {
		return lease.Completion{}, s.settled(err)
	}
	if value, foreign := strings.CutPrefix(text, "other|"); foreign {
		return lease.Completion{}, &lease.NotExecutedError{Address: s.address, Cause: fmt.Errorf(
			"the key %s holds no record of a completion but %.40q: remove it if no program needs it, or name the occurrence otherwise",
			scope.DoneKey(request.Occurrence), value)}
	}
	completion, err := readCompletion(text)
	if err != nil {
		return lease.Completion{}, s.strange(text)
	}
	return completion, nil
}

var verdicts = map[string]lease.Verdict{
	"accepted": lease.Accepted, "duplicate": lease.Duplicate, "conflict": lease.Conflict, "done": lease.Rejected,
}

// readCompletion reads the answer of complete.lua.
func readCompletion(text string) (lease.Completion, error) {
	code, rest, _ := strings.Cut(text, "|")
	if code == "stale" {
		newest, err := strconv.ParseUint(rest, 10, 53)
		return lease.Completion{Verdict: lease.Rejected, Newest: lease.Token(newest)}, err
	}
	verdict, known := verdicts[code]
	if !known {
		return lease.Completion{}, fmt.Errorf("verdict %.20q", code)
	}
	record, err := readRecord(rest)
	return lease.Completion{Verdict: verdict, Record: record}, err
}

// readRecord reads "<owner>|<token>|<at>|<bytes of inputs>|<bytes of digest>|<inputs><digest><location>".
func readRecord(text string) (lease.CompletionRecord, error) {
	fields := strings.SplitN(text, "|", 6)
	if len(fields) != 6 {
		return lease.CompletionRecord{}, fmt.Errorf("%d fields", len(fields))
	}
	token, err := lease.ParseToken(fields[1])
	if err != nil {
		return lease.CompletionRecord{}, err
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return lease.CompletionRecord{}, err
		}
	}
	inputs, digest, all := numbers[1], numbers[2], fields[5]
	if inputs < 0 || digest < 0 || inputs > int64(len(all)) || digest > int64(len(all))-inputs {
		return lease.CompletionRecord{}, fmt.Errorf("lengths %d and %d of %d bytes", inputs, digest, len(all))
	}
	return lease.CompletionRecord{
		Owner: lease.Owner(fields[0]), Token: token, At: time.UnixMilli(numbers[0]),
		Inputs: all[:inputs], Digest: all[inputs : inputs+digest], Location: all[inputs+digest:],
	}, nil
}
