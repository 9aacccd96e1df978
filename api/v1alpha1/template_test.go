package v1alpha1_test

import "testing"

// manifests are ReportJobs by what is special about them, with what the refusal must say; empty: they are valid.
type manifests map[string]struct{ manifest, refusal string }

func (m manifests) check(t *testing.T) {
	t.Helper()
	for name, tc := range m {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, tc.manifest)
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestTheJobIsOnePodThatTheOperatorControls(t *testing.T) {
	t.Parallel()
	manifests{
		"as small as it gets":  {baseManifest, ""},
		"one pod, said aloud":  {inJob(t, "parallelism: 1\n      completions: 1\n      backoffLimit: 0"), ""},
		"two at once":          {inJob(t, "parallelism: 2"), "spec.jobTemplate.spec.parallelism"},
		"none at once":         {inJob(t, "parallelism: 0"), "spec.jobTemplate.spec.parallelism"},
		"two in turn":          {inJob(t, "completions: 2"), "spec.jobTemplate.spec.completions"},
		"a second try":         {inJob(t, "backoffLimit: 1"), "spec.jobTemplate.spec.backoffLimit"},
		"indexed":              {inJob(t, "completionMode: Indexed"), "spec.jobTemplate.spec.completionMode"},
		"not indexed":          {inJob(t, "completionMode: NonIndexed"), ""},
		"tries for each index": {inJob(t, "backoffLimitPerIndex: 1"), "spec.jobTemplate.spec.backoffLimitPerIndex"},
		"failed indexes":       {inJob(t, "maxFailedIndexes: 1"), "spec.jobTemplate.spec.maxFailedIndexes"},
		"a success policy": {inJob(t, "successPolicy: {rules: [{succeededCount: 1}]}"),
			"spec.jobTemplate.spec.successPolicy"},
		"a failure policy": {inJob(t, "podFailurePolicy: {rules: []}"),
			"spec.jobTemplate.spec.podFailurePolicy"},
		"another manager":   {inJob(t, "managedBy: example.com/other"), "spec.jobTemplate.spec.managedBy"},
		"a selector":        {inJob(t, "selector: {matchLabels: {a: b}}"), "spec.jobTemplate.spec.selector"},
		"a manual selector": {inJob(t, "manualSelector: true"), "spec.jobTemplate.spec.manualSelector"},
		"suspended":         {inJob(t, "suspend: true"), "spec.jobTemplate.spec.suspend"},
		"not suspended":     {inJob(t, "suspend: false"), ""},
		"gone after its end": {inJob(t, "ttlSecondsAfterFinished: 60"),
			"spec.jobTemplate.spec.ttlSecondsAfterFinished"},
		"a deadline of the Job":      {inJob(t, "activeDeadlineSeconds: 60"), "use spec.maxRuntime instead"},
		"replacement of failed pods": {inJob(t, "podReplacementPolicy: Failed"), ""},
		"replacement of dying pods": {inJob(t, "podReplacementPolicy: TerminatingOrFailed"),
			"spec.jobTemplate.spec.podReplacementPolicy"},
	}.check(t)
}

func TestTheContainersEndOnce(t *testing.T) {
	t.Parallel()
	manifests{
		"never restarted": {inPod(t, "restartPolicy: Never"), ""},
		"restarted on failure": {inPod(t, "restartPolicy: OnFailure"),
			"spec.jobTemplate.spec.template.spec.restartPolicy"},
		"restarted always": {inPod(t, "restartPolicy: Always"),
			"spec.jobTemplate.spec.template.spec.restartPolicy"},
		"a grace of the pod":    {inPod(t, "terminationGracePeriodSeconds: 5"), "use spec.stopGracePeriod instead"},
		"a deadline of the pod": {inPod(t, "activeDeadlineSeconds: 60"), "use spec.maxRuntime instead"},
		"a container restarted by itself": {inContainer(t, "restartPolicy: Always"),
			"spec.jobTemplate.spec.template.spec.containers"},
		"a container with restart rules": {inContainer(t, "restartPolicyRules: [{action: Restart}]"), "restartPolicyRules"},
		"a native sidecar":               {inInit(t, "restartPolicy: Always"), ""},
		"an init container restarted": {inInit(t, "restartPolicy: OnFailure"),
			"spec.jobTemplate.spec.template.spec.initContainers: Invalid value: an init container runs once"},
		"an ephemeral container": {inPod(t, "ephemeralContainers: [{name: debug, image: debug}]"),
			"spec.jobTemplate.spec.template.spec.ephemeralContainers"},
		"no container": {edit(t, "          containers:\n          - name: report\n            image: report\n",
			"          containers: []\n"), "a report needs a container"},
		"an init container with rules": {inInit(t, "restartPolicyRules: [{action: Restart}]"), "restartPolicyRules"},
	}.check(t)
}

func TestTheTemplateTakesNoNamesOfOthers(t *testing.T) {
	t.Parallel()
	manifests{
		"a variable of its own": {inContainer(t, "env: [{name: MONTH, value: '11'}]"), ""},
		"a variable of ours": {inContainer(t, "env: [{name: LEASEHOLD_FENCING_TOKEN, value: '9'}]"),
			"begin with LEASEHOLD_"},
		"a variable of ours at the start": {inInit(t, "env: [{name: LEASEHOLD_JOB_ID, value: x}]"), "begin with LEASEHOLD_"},
		"a label of ours on the Job": {edit(t, "{team: finance}", "{leasehold.dev/attempt: '9'}"),
			"spec.jobTemplate.metadata.labels"},
		"an annotation of ours on the pod": {edit(t, "annotations: {team: finance}",
			"annotations: {leasehold.dev/job-id: x}"), "spec.jobTemplate.spec.template.metadata.annotations"},
		"a label of ours on the pod": {edit(t, "annotations: {team: finance}", "labels: {leasehold.dev/attempt: '9'}"),
			"spec.jobTemplate.spec.template.metadata.labels"},
		"a label of the Job controller on the Job": {edit(t, "{team: finance}", "{batch.kubernetes.io/job-name: x}"),
			"spec.jobTemplate.metadata.labels"},
		"a name of the Job controller on the pod": {edit(t, "annotations: {team: finance}", "labels: {job-name: x}"),
			"spec.jobTemplate.spec.template.metadata.labels"},
		"a UID of the Job controller on the pod": {edit(t, "annotations: {team: finance}", "labels: {controller-uid: x}"),
			"spec.jobTemplate.spec.template.metadata.labels"},
		"an annotation of ours on the Job": {edit(t, "labels: {team: finance}", "annotations: {leasehold.dev/job-id: x}"),
			"spec.jobTemplate.metadata.annotations"},
		"a name for the Job": {edit(t, "      labels: {team: finance}", "      name: mine"),
			"unknown field \"spec.jobTemplate.metadata.name\""},
		"a misspelt field": {inContainer(t, "comand: [x]"),
			"unknown field \"spec.jobTemplate.spec.template.spec.containers[0].comand\""},
		"no template": {edit(t, "  jobTemplate:\n", "  jobTemplate2:\n"), "jobTemplate"},
	}.check(t)
}
