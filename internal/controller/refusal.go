package controller

import (
	"errors"
	"strings"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/plan"
)

// refusals are what to do about the answers by which Redis, or the operator on seeing them, refuses a request; they are found by
// a part of the answer. What is none of them was no answer.
var refusals = []struct{ answer, advice string }{
	{"WRONGTYPE", "One of the keys KEYS holds something that is no lease: look at them with TYPE, and remove it with DEL if nobody" +
		" needs it"},
	{"no fencing token is left", "Look whether Redis's clock is right (TIME), whether its key FENCE was written by hand, and which" +
		" ReportJobs of the jobID have a status.lastToken near 2^53"},
	{"outside its window", "Look whether Redis's clock was set or runs wrong; the request is repeated"},
	{"NOAUTH", credentials},
	{"WRONGPASS", credentials},
	{"invalid password", credentials},
	{"called without any password", credentials},
	{"NOPERM", rights},
	{"ACL failure", rights},
	{"OOM ", "Redis has no memory left: raise maxmemory, or remove what does not belong there"},
	{"MISCONF", "Redis cannot save its data: look at its log and its disk"},
	{"READONLY", "This Redis is a replica: give the operator the address of the primary"},
	{"MASTERDOWN", "This Redis is a replica that lost its primary: look at the primary"},
	{"CLUSTERDOWN", "Redis Cluster does not serve the slot of the key: look at redis-cli cluster info"},
	{"MOVED ", "This is a Redis Cluster, and the operator was not told so: see its flags about the topology"},
	{"NOREPLICAS", "Redis lacks the replicas that min-replicas-to-write asks for: look at them"},
	{"LOADING", "Redis reads its data and will answer soon; the request is repeated"},
	{"BUSY ", "A script of another program blocks Redis: end it with SCRIPT KILL"},
	{"max number of clients", "Redis has too many clients: raise maxclients, or find out who they are with CLIENT LIST"},
	{"Error compiling script", "Use Redis 7.0 or newer"},
	{"unknown command", "Use a Redis, or a proxy before it, that has this command"},
}

const (
	credentials = "Look at the user and the password that the operator has for Redis"
	rights      = "Give the operator's user in Redis the rights that docs/protocol.md lists"
)

// unreachable is the result of a request that was not executed: no answer, or a refusal with what to do about it.
func (a *actor) unreachable(err error, scope lease.Scope) plan.StoreUnreachable {
	return plan.StoreUnreachable{Address: a.Store.Address(), Message: causeOf(err), Advice: adviceOn(err, scope)}
}

// adviceOn says what to do about a refusal; empty if it is none.
func adviceOn(err error, scope lease.Scope) string {
	if _, unfit := errors.AsType[*lease.UnsafeError](err); unfit {
		return "Nothing is asked of this Redis before that is mended"
	}
	text := causeOf(err)
	for _, refusal := range refusals {
		if strings.Contains(text, refusal.answer) {
			keys := strings.Join([]string{scope.LeaseKey(), scope.FenceKey(), scope.ServerKey()}, ", ")
			return strings.NewReplacer("KEYS", keys, "FENCE", scope.FenceKey()).Replace(refusal.advice)
		}
	}
	return ""
}
