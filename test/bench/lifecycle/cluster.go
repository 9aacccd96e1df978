package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

const (
	namespacePrefix = "leasehold-bench-"
	// limit bounds every wait; what takes longer is an error and not a figure.
	limit = 2 * time.Minute
	// tick is how often is looked at what is waited for.
	tick = 20 * time.Millisecond
)

// bench reaches the cluster as its administrator.
type bench struct {
	client client.Client
	plain  kubernetes.Interface
}

func newBench(ctx context.Context) (*bench, error) {
	path, err := exec.CommandContext(ctx, "hack/cluster/cluster", "kubeconfig").Output()
	if err != nil {
		return nil, fmt.Errorf("hack/cluster/cluster kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", string(bytes.TrimSpace(path)))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	b := &bench{}
	if b.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	b.plain, err = kubernetes.NewForConfig(config)
	return b, err
}

// withNamespace does something in a namespace of its own, which is removed first and last.
func (b *bench) withNamespace(ctx context.Context, name string, do func(namespace string) error) error {
	name = namespacePrefix + name
	if err := b.removeNamespace(ctx, name); err != nil {
		return err
	}
	if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{}
	err := eventually(ctx, "namespace "+name+" has its service account", func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, account)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err == nil {
		err = do(name)
	}
	if err != nil {
		return err // what is there stays, to be looked at
	}
	return b.removeNamespace(ctx, name)
}

func (b *bench) removeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := b.client.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		return err
	}
	return eventually(ctx, "namespace "+name+" is gone", func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// eventually looks again and again until something is so.
func eventually(ctx context.Context, what string, holds func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, tick, limit, true, func(context.Context) (bool, error) { return holds() })
	if err != nil {
		return fmt.Errorf("until %s: %w", what, err)
	}
	return nil
}

// podTemplate runs a shell script in one container.
func podTemplate(script string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{
			Name: "report", Image: "docker.io/local/busybox:1", Command: []string{"/bin/sh", "-c", script}}},
	}}
}

// newReport is a ReportJob with the default timing but for the grace period. All of one jobID run one after the other.
func newReport(namespace, name, jobID, script string) *v1alpha1.ReportJob {
	rj := &v1alpha1.ReportJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	rj.Spec.JobID, rj.Spec.StopGracePeriod, rj.Spec.Retry.MaxAttempts = jobID, "1s", 1
	rj.Spec.JobTemplate.Spec.Template = podTemplate(script)
	rj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = "" // the operator sets it
	return rj
}

func newJob(namespace, name, script string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: podTemplate(script)},
	}
}

func (b *bench) untilPhase(ctx context.Context, rj *v1alpha1.ReportJob, phase v1alpha1.Phase) error {
	return eventually(ctx, fmt.Sprintf("ReportJob %s is %s", rj.Name, phase), func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(rj), rj)
		ended := meta.IsStatusConditionTrue(rj.Status.Conditions, v1alpha1.ConditionFinished)
		if err == nil && rj.Status.Phase != phase && ended {
			return false, fmt.Errorf("it came to %s: %s", rj.Status.Phase, rj.Status.Message)
		}
		return rj.Status.Phase == phase, err
	})
}
