package redis

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
)

// named says whether an error is one of those that a lease.Store returns.
func named(err error) bool {
	_, isHeld := errors.AsType[*lease.HeldError](err)
	_, isLost := errors.AsType[*lease.LostError](err)
	_, isQuarantined := errors.AsType[*lease.QuarantinedError](err)
	_, isNotExecuted := errors.AsType[*lease.NotExecutedError](err)
	_, isUnknown := errors.AsType[*lease.UnknownError](err)
	return err == nil || isHeld || isLost || isQuarantined || isNotExecuted || isUnknown
}

// answersOfScripts are what follows the nonce in an answer, of each script, and some that none gives.
var answersOfScripts = []string{
	"", "ok", "ok|", "ok|5", "ok|9007199254740991", "ok|9007199254740992",
	"ok|007", "ok|-1", "gone", "other|", "other|a|1", "other|x",
	"busy|-1|", "busy|5000|0123456789abcdef0123456789abcdef|7", "busy|x|a|1", "busy", "busy|99999999999999999999|a|1",
	"wait|5000|server", "wait|0|data", "wait|-5|data", "wait|", "wait|9223372036854775807|data", "clock|1767225600000",
	"overflow|9007199254740992", "ok|5000|0123456789abcdef0123456789abcdef|7", "ok|-1|a-cron-box",
	"accepted|0123456789abcdef0123456789abcdef|7|1767225600000|2|3|inoutplace", "duplicate|a|7|1|0|0|", "done|a|7|1|1|0|x",
	"conflict|a|7|1|9223372036854775807|1|x", "accepted|a|7|1|-1|2|x",
	"stale|9", "stale|-9", "stale|99999999999999999999", "|", "\x00|ok",
}

func FuzzAnAnswerIsReadForWhatItSays(f *testing.F) {
	for _, seed := range answersOfScripts {
		f.Add(seed)
	}
	store := &Store{address: "redis.example:6379"}
	f.Fuzz(func(t *testing.T, text string) {
		checkGrant(t, store, text)
		kept := store.kept("a/b", text, nil)
		if code, _, _ := strings.Cut(text, "|"); kept == nil && code != "ok" {
			t.Errorf("%q is taken for a success", text)
		}
		if !named(kept) {
			t.Errorf("%q is an error of no name: %v", text, kept)
		}
		checkCompletion(t, text)
	})
}

// checkGrant reads an answer of acquire.lua.
func checkGrant(t *testing.T, store *Store, text string) {
	t.Helper()
	token, err := store.granted("a/b", text)
	if says := "ok|" + token.String(); err == nil && (text != says || token > lease.MaxToken) {
		t.Errorf("%q is taken for a grant of token %d", text, token)
	}
	if quarantined, is := errors.AsType[*lease.QuarantinedError](err); is && !strings.HasPrefix(text, "wait|") {
		t.Errorf("%q is taken for a quarantine of %v", text, quarantined.Left)
	}
	if !named(err) {
		t.Errorf("%q is an error of no name: %v", text, err)
	}
}

// checkCompletion reads an answer of complete.lua; a record must be the one that stands in it.
func checkCompletion(t *testing.T, text string) {
	t.Helper()
	completion, err := readCompletion(text)
	if err != nil {
		return
	}
	code, rest, _ := strings.Cut(text, "|")
	if want := verdicts[code]; completion.Verdict != want && (code != "stale" || completion.Verdict != lease.Rejected) {
		t.Errorf("%q is taken for %s", text, completion.Verdict)
	}
	r := completion.Record
	if code != "stale" && !strings.HasSuffix(rest, r.Inputs+r.Digest+r.Location) {
		t.Errorf("%q has %q, %q and %q in it", text, r.Inputs, r.Digest, r.Location)
	}
	if code != "stale" && !strings.HasPrefix(rest, string(r.Owner)+"|"+r.Token.String()+"|") {
		t.Errorf("%q is taken for a record of %q with token %d", text, r.Owner, r.Token)
	}
}

func FuzzAValueIsReadAsItWasWritten(f *testing.F) {
	for _, seed := range []string{
		"", "|", "a", "a|1", "a|01", "a|+1", "|1", "a|b|1", "a|1|", "a|9007199254740991", "a|9007199254740992",
		"a|18446744073709551617", "0123456789abcdef0123456789abcdef|262144", "a|١", "a|1_0", "a| 1", "a|0x1", "\xff|1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		owner, token := lease.SplitValue(value)
		if token == 0 && string(owner) != value {
			t.Errorf("%q has no token, and its owner is %q", value, owner)
		}
		if term := (lease.Term{Owner: owner, Token: token}); token != 0 && (term.Value() != value || owner == "") {
			t.Errorf("%q is read as %q", value, term.Value())
		}
		checkToken(t, value)
	})
}

// checkToken reads a token alone.
func checkToken(t *testing.T, text string) {
	t.Helper()
	token, err := lease.ParseToken(text)
	if err == nil && (token.String() != text || token == 0 || token > lease.MaxToken) {
		t.Errorf("%q is read as token %d", text, token)
	}
}

const (
	// fuzzed is the scope whose scripts are answered by the fuzzer; all else is answered by a real server.
	fuzzed = lease.Scope("fuzz/scope")
	// In what the fuzzer answers, these stand for the nonces of the requests of a pipeline.
	firstNonce, secondNonce = "NONCE1", "NONCE2"
	// fuzzBudget is the time that a request has if nothing more comes from the server.
	fuzzBudget = 25 * time.Millisecond
	// fuzzRoom is how much memory an answer may cost, in bytes, whatever it announces.
	fuzzRoom = 64 << 20
)

// impostor stands between a store and a server, and answers the scripts of a scope itself.
type impostor struct {
	server string

	mu     sync.Mutex
	reply  []byte
	hangUp bool
}

func startImpostor(f *testing.F) (*impostor, *Store) {
	f.Helper()
	server, _ := leasetest.StartRedis(f)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { listener.Close() })
	i := &impostor{server: server}
	go i.accept(listener)
	store := New(Options{Address: listener.Addr().String()})
	f.Cleanup(func() { _ = store.Close() }) // most of its connections are gone
	return i, store
}

func (i *impostor) accept(listener net.Listener) {
	for {
		down, err := listener.Accept()
		if err != nil {
			return
		}
		go i.serve(down)
	}
}

func (i *impostor) serve(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", i.server)
	if err != nil {
		return
	}
	defer up.Close()
	go func() { _, _ = io.Copy(down, up) }() // until either is closed
	buffer := make([]byte, 1<<16)
	for {
		n, err := down.Read(buffer)
		if err != nil {
			return
		}
		to, content, hangUp := up, buffer[:n], false
		if bytes.Contains(content, []byte(fuzzed.LeaseKey())) {
			to = down
			content, hangUp = i.answer(content)
		}
		if _, err := to.Write(content); err != nil || hangUp {
			return
		}
	}
}

// answer is what the fuzzer answers to a pipeline of scripts.
func (i *impostor) answer(request []byte) (reply []byte, hangUp bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	reply = i.reply
	names := [][]byte{[]byte(firstNonce), []byte(secondNonce)}
	for n, nonce := range noncesOf(request) {
		if n < len(names) {
			reply = bytes.ReplaceAll(reply, names[n], nonce)
		}
	}
	return reply, i.hangUp
}

// noncesOf finds the first argument behind the keys of each script in a pipeline.
func noncesOf(request []byte) (nonces [][]byte) {
	parts := bytes.Split(request, []byte("\r\n"))
	for at, part := range parts {
		if name := strings.ToLower(string(part)); name != "evalsha" && name != "eval" {
			continue
		}
		// Behind the name: the script and the number of keys, each behind its length, as are the keys.
		if at+4 < len(parts) {
			if keys, err := strconv.Atoi(string(parts[at+4])); err == nil && 0 <= keys && at+6+2*keys < len(parts) {
				nonces = append(nonces, parts[at+6+2*keys])
			}
		}
	}
	return nonces
}

// fuzzedRequests are one of each kind. The first is a pipeline of two.
func fuzzedRequests(store *Store) []func(context.Context) []error {
	term := lease.Term{Scope: fuzzed, Owner: "0123456789abcdef0123456789abcdef", Token: 7}
	renewal := lease.NewRenewal(term, time.Minute)
	return []func(context.Context) []error{
		func(ctx context.Context) []error { return store.Renew(ctx, []*lease.Renewal{&renewal, &renewal}) },
		func(ctx context.Context) []error {
			_, err := store.Acquire(ctx, lease.AcquireRequest{Scope: fuzzed, Owner: term.Owner, TTL: time.Minute})
			return []error{err}
		},
		func(ctx context.Context) []error { return []error{store.Release(ctx, term)} },
		func(ctx context.Context) []error { return []error{store.ReleaseOwner(ctx, fuzzed, term.Owner)} },
		func(ctx context.Context) []error {
			_, err := store.Observe(ctx, fuzzed)
			return []error{err}
		},
		func(ctx context.Context) []error {
			_, err := store.Complete(ctx, lease.CompleteRequest{Term: term, Occurrence: "o", Retention: time.Hour})
			return []error{err}
		},
	}
}

// rawReplies are what a server, a proxy or something else may send in place of an answer.
var rawReplies = []string{
	"", "\r\n", "+OK\r\n", "+PONG\r\n", ":1\r\n", ":\r\n", "$-1\r\n",
	"*-1\r\n", "_\r\n", "$4\r\nlate\r\n", "$0\r\n\r\n", "*0\r\n", "*1\r\n",
	"+NONCE1|ok\r\n", "+NONCE1|ok\r\n+NONCE2|ok\r\n", "+NONCE2|ok\r\n+NONCE1|ok\r\n", "+NONCE1|gone\r\n+NONCE2|other|a|1\r\n",
	"$11\r\nNONCE1|ok|7\r\n", "+NONCE1|ok|7\r\n", "+NONCE1|busy|5000|a|1\r\n",
	"+NONCE1|wait|5000|data\r\n", "+NONCE1|ok|5000|a|1\r\n",
	"+NONCE1|accepted|a|7|1|0|0|\r\n", "+NONCE1|stale|9\r\n", "+NONCE1\r\n",
	"+NONCE1|\r\n", "+NONCE1|nonsense\r\n", "*1\r\n+NONCE1|ok\r\n",
	"-ERR no\r\n", "-READONLY You can't write against a read only replica.\r\n", "-NOSCRIPT No matching script.\r\n", "-LOADING\r\n",
	"-MOVED 1 127.0.0.1:1\r\n", "-ASK 1 127.0.0.1:1\r\n", "-ERR ACL failure in script\r\n", "-\r\n", "-NONCE1|ok\r\n",
	"$5\r\nab", "$99999999999999999999\r\n", "$2147483647\r\n", "$-2\r\n",
	"*2147483647\r\n", "%1\r\n+a\r\n+b\r\n", "#t\r\n", ",1.5\r\n",
	"(12345678901234567890\r\n", "!5\r\nERR x\r\n", "=6\r\ntxt:ab\r\n",
	"~1\r\n+a\r\n", ">2\r\n+message\r\n+a\r\n", "|1\r\n+a\r\n+b\r\n+NONCE1|ok\r\n",
	"HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01\x00",
	"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "+NONCE1|ok\n", "+OK\r\n+NONCE1|ok\r\n",
}

func FuzzWhateverAServerSendsHasANamedOutcomeInTime(f *testing.F) {
	for i, reply := range rawReplies {
		f.Add(uint8(i), []byte(reply), true)
		f.Add(uint8(i/2), []byte(reply), i%4 == 0)
	}
	impostor, store := startImpostor(f)
	requests := fuzzedRequests(store)
	f.Fuzz(func(t *testing.T, kind uint8, reply []byte, hangUp bool) {
		impostor.mu.Lock()
		impostor.reply, impostor.hangUp = reply, hangUp
		impostor.mu.Unlock()
		begun, before := time.Now(), allocated()
		ctx, cancel := context.WithTimeout(t.Context(), fuzzBudget)
		defer cancel()
		errs := requests[int(kind)%len(requests)](ctx)
		if took := time.Since(begun); took > fuzzBudget+2*time.Second { // of a machine that does other things
			t.Errorf("%q took %v", reply, took)
		}
		if cost := allocated() - before; cost > fuzzRoom {
			t.Errorf("%q took %d bytes of memory", reply, cost)
		}
		for n, err := range errs {
			nonce := []string{firstNonce, secondNonce}[n]
			if lease.OutcomeOf(err) == lease.Executed && !bytes.Contains(reply, []byte(nonce)) {
				t.Errorf("request %d: %q is taken for an answer: %v", n, reply, err)
			}
			if !named(err) {
				t.Errorf("request %d: %q is an error of no name: %v", n, reply, err)
			}
		}
	})
}

// allocated is how much memory was allocated since the program began.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
