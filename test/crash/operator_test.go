//go:build crash

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// operator is one process of the manager, between its two proxies.
type operator struct {
	gate    *gate
	api     *apiProxy
	redis   *redisProxy
	process *exec.Cmd
	// ended is closed when the process has ended, for whatever reason.
	ended chan struct{}
	log   string
}

// kubeconfigFor leads to a proxy that asks for no credentials.
const kubeconfigFor = `apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: %q}}]
contexts: [{name: proxy, context: {cluster: proxy, user: nobody}}]
users: [{name: nobody, user: {}}]
current-context: proxy
`

// startOperator starts an operator that looks after one namespace and dies at the point, if it is one.
func (s *suite) startOperator(t *testing.T, namespace string, point crashPoint, flags ...string) *operator {
	t.Helper()
	dir := t.TempDir()
	o := &operator{ended: make(chan struct{}), log: filepath.Join(dir, "log")}
	o.gate = newGate(point, o.kill)
	o.api = newAPIProxy(t, cluster, namespace, o.gate)
	o.redis = &redisProxy{server: s.redis, scope: "{" + namespace + "/", scripts: s.scripts, gate: o.gate}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, fmt.Appendf(nil, kubeconfigFor, o.api.listen(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(o.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	o.process = exec.CommandContext(t.Context(), filepath.Join(programs, "manager"), append([]string{"--kubeconfig", kubeconfig,
		"--redis-address", o.redis.listen(t), "--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, flags...)...)
	o.process.Stdout, o.process.Stderr = log, log
	if err := o.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(o.ended)
		_ = o.process.Wait() // killed, as a rule
	}()
	t.Cleanup(func() { o.gate.die() })
	return o
}

// kill ends the process as a crash would, and returns when it is gone.
func (o *operator) kill() {
	_ = o.process.Process.Kill() // it may have ended by itself
	<-o.ended
}

// isLost says that the process has ended without having been killed.
func (o *operator) isLost() bool {
	select {
	case <-o.ended:
	default:
		return false
	}
	select {
	case <-o.gate.dead:
		return false
	case <-time.After(time.Second): // it is being killed just now
		return true
	}
}

// sees says that the operator watches all that it decides on.
func (o *operator) sees() bool { return o.api.watches.Load() >= 3 }

func (o *operator) lastLines() string {
	text, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-6000):])
}
