//go:build crash

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// apiProxy hands requests on to the API server, with the rights of the operator's service account, shows the operator one
// namespace only, and passes the writes of a lifecycle through a gate.
type apiProxy struct {
	namespace string
	gate      *gate
	proxy     *httputil.ReverseProxy
	// watches counts the watches that were begun.
	watches atomic.Int32
}

// errSwallowed keeps an answer from the operator.
var errSwallowed = errors.New("the operator must not hear this answer")

// nameKey is where the context of a request holds the name of its write.
type nameKey struct{}

func newAPIProxy(t *testing.T, config *rest.Config, namespace string, gate *gate) *apiProxy {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":leasehold-controller-manager",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &apiProxy{namespace: namespace, gate: gate}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.URL.Path = p.narrowed(r.In.URL.Path)
		},
		Transport:      transport,
		FlushInterval:  -1, // watches
		ModifyResponse: p.sawAnswer,
		// Who hears nothing hears nothing: no answer of the proxy's own.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	return p
}

// listen serves until the test ends, and returns its URL.
func (p *apiProxy) listen(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// ServeHTTP hands one request on.
func (p *apiProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		p.watches.Add(1)
	}
	name, err := nameOf(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if name != "" && !p.gate.enter() {
		panic(http.ErrAbortHandler)
	}
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nameKey{}, name)))
}

// sawAnswer has the answer of the API server in hand, and the operator has not.
func (p *apiProxy) sawAnswer(response *http.Response) error {
	name, _ := response.Request.Context().Value(nameKey{}).(string)
	if name == "" || response.StatusCode >= http.StatusMultipleChoices || p.gate.answered(name) {
		return nil
	}
	return errSwallowed
}

// narrowed makes what is asked of every namespace a question about one.
func (p *apiProxy) narrowed(path string) string {
	for _, all := range []string{"/apis/leasehold.dev/v1alpha1/reportjobs", "/apis/batch/v1/jobs", "/api/v1/pods"} {
		if path == all {
			at := strings.LastIndex(all, "/")
			return all[:at] + "/namespaces/" + p.namespace + all[at:]
		}
	}
	return path
}

// nameOf is what a write of the lifecycle is called; empty for reads, events and the Lease of leader election. Events tell of
// what was written before; nothing rests on them.
func nameOf(r *http.Request) (string, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodGet, slices.Contains(parts, "events"), slices.Contains(parts, "leases"):
		return "", nil
	case slices.Contains(parts, "reportjobs") && r.Method == http.MethodPatch:
		return nameOfPatch(r, parts[len(parts)-1] == "status")
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete"}[r.Method]
	for resource, kind := range map[string]string{"jobs": "Job", "pods": "pod", "reportjobs": "ReportJob"} {
		if slices.Contains(parts, resource) && verb != "" {
			return verb + " " + kind, nil
		}
	}
	return r.Method + " " + r.URL.Path, nil
}

// message is a write of the status that is no step: what the phase waits for has changed.
const message = "status: message"

// nameOfPatch tells the writes of a ReportJob apart by what they say.
func nameOfPatch(r *http.Request, isStatus bool) (string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var patch struct {
		Metadata struct{ Finalizers []string }
		Status   struct {
			Transitions []struct{ Event string }
		}
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return "", err
	}
	switch n := len(patch.Status.Transitions); {
	case isStatus && n > 0:
		return "status: " + patch.Status.Transitions[n-1].Event, nil
	case isStatus:
		return message, nil
	case len(patch.Metadata.Finalizers) > 0:
		return "add finalizer", nil
	}
	return "remove finalizer", nil
}
