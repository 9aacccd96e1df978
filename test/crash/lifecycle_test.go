//go:build crash

package crash

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// lifecycle is one kind of life of a ReportJob.
type lifecycle struct {
	name string
	// work and exitCode are how long the report takes and how it ends, if nobody stops it.
	work, exitCode string
	// interfere is what happens to the report once its status says that it runs; nil: nothing.
	interfere func(*testing.T, *trial)
	// end is what it must come to.
	end string
	// armed is which operator of a trial dies at the crash point, counted from 0.
	armed int
	// keyAtEnd is what its lease must hold in the end.
	keyAtEnd string
	// only are the writes to die after; empty: every one.
	only []string
	// elected says that operators elect a leader, so that the next one leads after 15 to 20 s only.
	elected bool
}

const thief = "somebody-else|1"

var lifecycles = []lifecycle{
	{name: "success", work: "2s", exitCode: "0", end: "Succeeded, PodSucceeded"},
	{name: "failure", work: "2s", exitCode: "3", end: "Failed, PodFailed"},
	{name: "lease lost", work: "1m", exitCode: "0", end: "Failed, LeaseLost", interfere: steal, keyAtEnd: thief},
	{name: "deleted while it runs", work: "1m", exitCode: "0", end: gone, interfere: remove},
	{name: "success under a second operator", work: "2s", exitCode: "0", end: "Succeeded, PodSucceeded",
		interfere: replace, armed: 1},
	{name: "success under an elected leader", work: "2s", exitCode: "0", end: "Succeeded, PodSucceeded", elected: true,
		only: []string{"create Job"}},
}

// gone is the end of a ReportJob that was deleted.
const gone = "gone"

// steal gives the lease to somebody else, by hand.
func steal(t *testing.T, tr *trial) {
	t.Helper()
	ask(t, tr.redis, "SET", tr.key(), thief, "PX", "600000")
}

// remove deletes the ReportJob, as a user does.
func remove(t *testing.T, tr *trial) {
	t.Helper()
	if err := tr.client.Delete(t.Context(), tr.report()); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// replace kills the operator, so that another one takes the running report over.
func replace(_ *testing.T, tr *trial) { tr.operators[0].gate.die() }

// report is the ReportJob of the trial. Its times are short and valid together. A second attempt would hide a failure.
func (tr *trial) report() *v1alpha1.ReportJob {
	rj := &v1alpha1.ReportJob{ObjectMeta: metav1.ObjectMeta{Namespace: tr.namespace, Name: "report"}}
	rj.Spec.Retry.MaxAttempts = 1
	rj.Spec.LeaseDuration, rj.Spec.RenewalInterval, rj.Spec.StopGracePeriod = "6s", "500ms", "1s"
	if tr.life.elected {
		rj.Spec.LeaseDuration = "30s"
	}
	folder := func(name, path string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: path, Type: new(corev1.HostPathDirectory)}}}
	}
	rj.Spec.JobTemplate = batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "report", Image: "docker.io/local/busybox:1",
			Command: []string{"/programs/report", tr.life.work, tr.life.exitCode},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "witness", MountPath: "/witness"}, {Name: "programs", MountPath: "/programs", ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{folder("witness", tr.witness.dir), folder("programs", programs)},
	}}}}
	return rj
}

// key is the lease in Redis.
func (tr *trial) key() string {
	return strings.Join([]string{"leasehold:{", "/report}:lease"}, tr.namespace)
}
