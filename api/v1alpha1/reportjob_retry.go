package v1alpha1

// Retry says what happens after an attempt that did not succeed. A new attempt has a new execution ID, a new grant, and so a
// higher fencing token; it asks for the lease when that of the attempt before is given back or has run out.
type Retry struct {
	// maxAttempts is how many attempts may fail before the report has: 1 to 100. Default: 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxAttempts int32 `json:"maxAttempts,omitempty"`

	// backoff is the wait before the second attempt. It doubles with every failed attempt, up to 10 minutes or to itself if that
	// is more. 0s to 24h. Default: 10s.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,9}(ms|s)|[0-9]{1,5}[mh])+$') || duration(self) <= duration('24h')",message="must be 0s to 24h"
	Backoff Duration `json:"backoff,omitempty"`

	// rules say which failures are treated otherwise than by another attempt; the first one that matches decides. Without one
	// MaxRuntimeExceeded fails the report, and every other reason counts as a failed attempt.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Rules []RetryRule `json:"rules,omitempty"`
}

// RetryRule is what one kind of failure leads to.
//
// +kubebuilder:validation:XValidation:rule="has(self.onExitCodes) != has(self.onReasons)",message="a rule needs either onExitCodes or onReasons"
type RetryRule struct {
	// action is Fail: no further attempt; Ignore: another attempt, and this one does not count; or Count: another attempt, unless
	// maxAttempts is reached.
	// +required
	Action RetryAction `json:"action,omitempty"`

	// onExitCodes matches the exit code of the report's container: of the first one that ended other than with 0.
	// +optional
	OnExitCodes *OnExitCodes `json:"onExitCodes,omitempty"`

	// onReasons matches the reason of the completion, if it is one of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	OnReasons []RetryReason `json:"onReasons,omitempty"`
}

// RetryAction is what a rule does.
//
// +kubebuilder:validation:Enum=Fail;Ignore;Count
type RetryAction string

// The actions of a rule.
const (
	// RetryFail fails the report, whatever attempts are left.
	RetryFail RetryAction = "Fail"
	// RetryIgnore makes another attempt and does not count the one that failed.
	RetryIgnore RetryAction = "Ignore"
	// RetryCount makes another attempt unless maxAttempts have failed.
	RetryCount RetryAction = "Count"
)

// RetryReason is a reason of a completion after which another attempt is possible.
//
// +kubebuilder:validation:Enum=PodFailed;OOMKilled;PodDisrupted;PodVanished;JobDisturbed;JobForbidden;NodeLost;LeaseLost;OwnershipUncertain;MaxRuntimeExceeded
type RetryReason string

// OnExitCodes matches exit codes, as podFailurePolicy of a Job does.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !(0 in self.values)",message="0 is no exit code of a failure",fieldPath=".values"
type OnExitCodes struct {
	// operator is In or NotIn. A failure without an exit code matches neither.
	// +required
	Operator ExitCodeOperator `json:"operator,omitempty"`

	// values are the exit codes, 0 to 255; with operator In 0 is none of them.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=255
	Values []int32 `json:"values,omitempty"`
}

// ExitCodeOperator says whether the values are those that match.
//
// +kubebuilder:validation:Enum=In;NotIn
type ExitCodeOperator string

// The operators.
const (
	// ExitCodeIn matches the values.
	ExitCodeIn ExitCodeOperator = "In"
	// ExitCodeNotIn matches all but the values.
	ExitCodeNotIn ExitCodeOperator = "NotIn"
)

// LostNodePolicy says what happens when the node of a report's pod does not answer.
//
// +kubebuilder:validation:Enum=Wait;FenceAndTakeOver
type LostNodePolicy string

// The policies.
const (
	// LostNodeWait waits until the end of the pod is proven, however long that takes, and keeps the lease.
	LostNodeWait LostNodePolicy = "Wait"
	// LostNodeFenceAndTakeOver lets the lease run out and goes on with a higher token, although the old process may still live
	// where nobody can see it: the destination must refuse the old token.
	LostNodeFenceAndTakeOver LostNodePolicy = "FenceAndTakeOver"
)
