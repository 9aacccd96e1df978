package v1alpha1_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestKubectlGetShowsWhoRunsAndWhy(t *testing.T) {
	t.Parallel()
	created, err := create(t, baseManifest)
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]any{
		"phase": "Running", "jobID": "revenue", "holder": "report-17-abc", "reason": "PodRunning", "message": "the pod runs",
		"execution": map[string]any{"id": "e1", "owner": "e1", "attempt": int64(1), "token": "17", "leaseKey": "k",
			"acquiredAt": "2026-12-01T02:00:00.000000Z", "job": "report-17", "startedAt": "2026-12-01T02:00:01Z"},
	}
	if err := unstructured.SetNestedMap(created.Object, status, "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := reportJobs.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	table := tableOf(t, created.GetName())
	var names []string
	for _, column := range table.ColumnDefinitions {
		names = append(names, column.Name)
	}
	wantNames := []string{"Name", "Phase", "Job-ID", "Holder", "Token", "Started", "Age", "Attempt", "Execution",
		"Reason", "Message"}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Fatalf("columns (-want +got):\n%s", diff)
	}
	cells := table.Rows[0].Cells
	cells[5], cells[6] = cells[5] != "", cells[6] != ""
	want := []any{created.GetName(), "Running", "revenue", "report-17-abc", "17", true, true, float64(1), "e1", "PodRunning",
		"the pod runs"}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("the row (-want +got; Started and Age: whether they are filled in):\n%s", diff)
	}
}

// tableOf asks for a ReportJob as kubectl get does.
func tableOf(t *testing.T, name string) metav1.Table {
	t.Helper()
	client, err := rest.HTTPClientFor(apiServer)
	if err != nil {
		t.Fatal(err)
	}
	path, err := url.JoinPath(apiServer.Host, "apis/leasehold.dev/v1alpha1/namespaces/default/reportjobs", name)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("no table of one row: %v: %s", err, body)
	}
	return table
}
