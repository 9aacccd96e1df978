// Package v1alpha1 is the leasehold.dev/v1alpha1 API: the ReportJob resource, the conditions, reasons and events it
// reports, and the names (labels, annotations, environment variables, finalizer) that a report and its tools may rely on.
//
// +kubebuilder:object:generate=true
// +groupName=leasehold.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every type in this package.
	GroupVersion = schema.GroupVersion{Group: "leasehold.dev", Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add this package's types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds ReportJob and ReportJobList to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ReportJob{}, &ReportJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
