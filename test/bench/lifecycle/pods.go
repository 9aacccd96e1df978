package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

// podTimes is when a watch showed the steps of a pod, by the name of its ReportJob.
type podTimes struct {
	mu sync.Mutex
	// running and ended are when its container was first seen to run and to have ended; pod is its name.
	running, ended map[string]time.Time
	pod            map[string]string
}

// watchPods notes the times of the reports' pods in a namespace until the context ends.
func (b *bench) watchPods(ctx context.Context, namespace string) (*podTimes, error) {
	watch, err := b.plain.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelReportJob})
	if err != nil {
		return nil, err
	}
	times := &podTimes{running: map[string]time.Time{}, ended: map[string]time.Time{}, pod: map[string]string{}}
	go func() {
		defer watch.Stop()
		for event := range watch.ResultChan() {
			if pod, is := event.Object.(*corev1.Pod); is {
				times.saw(pod, time.Now())
			}
		}
	}()
	return times, nil
}

func (p *podTimes) saw(pod *corev1.Pod, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	report := pod.Labels[v1alpha1.LabelReportJob]
	p.pod[report] = pod.Name
	for _, container := range pod.Status.ContainerStatuses {
		if _, known := p.running[report]; !known && container.State.Running != nil {
			p.running[report] = now
		}
		if _, known := p.ended[report]; !known && container.State.Terminated != nil {
			p.ended[report] = now
		}
	}
}

// of returns when a report's container was seen to run and to have ended; zero: not yet.
func (p *podTimes) of(report string) (running, ended time.Time, pod string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running[report], p.ended[report], p.pod[report]
}
