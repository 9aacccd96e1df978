package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/api/v1alpha1"
)

func TestRetryIsCheckedBothWays(t *testing.T) {
	t.Parallel()
	const oneKind = "a rule needs either onExitCodes or onReasons"
	for name, tc := range map[string]struct{ value, refusal string }{
		"no retry":               {"{maxAttempts: 1}", ""},
		"as often as can be":     {"{maxAttempts: 100, backoff: 24h}", ""},
		"at once":                {"{backoff: 0s}", ""},
		"never once":             {"{maxAttempts: 0}", "spec.retry.maxAttempts"},
		"too often":              {"{maxAttempts: 101}", "spec.retry.maxAttempts"},
		"too late":               {"{backoff: 24h1ms}", `spec.retry.backoff: Invalid value: "24h1ms": must be 0s to 24h`},
		"a wait that is no time": {"{backoff: soon}", "spec.retry.backoff"},
		"a rule for codes":       {"{rules: [{action: Fail, onExitCodes: {operator: In, values: [2, 64]}}]}", ""},
		"a rule for other codes": {"{rules: [{action: Fail, onExitCodes: {operator: NotIn, values: [0, 1]}}]}", ""},
		"a rule for reasons":     {"{rules: [{action: Ignore, onReasons: [PodDisrupted, NodeLost]}]}", ""},
		"a rule without a cause": {"{rules: [{action: Ignore}]}", oneKind},
		"a rule with two": {"{rules: [{action: Count, onReasons: [PodFailed], onExitCodes: {operator: In, values: [1]}}]}",
			oneKind},
		"a rule without an action": {"{rules: [{onReasons: [PodFailed]}]}", "spec.retry.rules[0].action"},
		"an action nobody knows":   {"{rules: [{action: FailJob, onReasons: [PodFailed]}]}", "spec.retry.rules[0].action"},
		"a reason nobody knows":    {"{rules: [{action: Fail, onReasons: [JobRefused]}]}", "spec.retry.rules[0].onReasons[0]"},
		"a rule for success": {"{rules: [{action: Fail, onExitCodes: {operator: In, values: [0]}}]}",
			"0 is no exit code of a failure"},
		"a code too high": {"{rules: [{action: Fail, onExitCodes: {operator: In, values: [256]}}]}",
			"spec.retry.rules[0].onExitCodes.values[0]"},
		"no codes": {"{rules: [{action: Fail, onExitCodes: {operator: In, values: []}}]}",
			"spec.retry.rules[0].onExitCodes.values"},
		"an operator nobody knows": {"{rules: [{action: Fail, onExitCodes: {operator: Is, values: [1]}}]}",
			"spec.retry.rules[0].onExitCodes.operator"},
		"more rules than one reads": {"{rules: [" + strings.Repeat("{action: Fail, onReasons: [PodFailed]},", 21) + "]}",
			"spec.retry.rules"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, spec(t, "retry", tc.value))
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestATriggerIsCheckedBothWays(t *testing.T) {
	t.Parallel()
	const belongs = "kafka belongs to kind Kafka, and only to it"
	for name, tc := range map[string]struct{ value, refusal string }{
		"a person":                    {"{kind: Manual, by: ann}", ""},
		"a schedule":                  {"{kind: Schedule, by: nightly, id: '2026-11-30T02:00:00Z'}", ""},
		"a repetition":                {"{kind: Retry, id: 0123456789abcdef}", ""},
		"a request":                   {"{kind: API, by: portal, id: r-1}", ""},
		"a message":                   {"{kind: Kafka, kafka: {topic: reports, partition: 0, offset: 0}}", ""},
		"a message with an ID":        {"{kind: Kafka, kafka: {topic: reports, partition: 3, offset: 991, messageID: m-17}}", ""},
		"the last offset there is":    {"{kind: Kafka, kafka: {topic: reports, partition: 3, offset: 9007199254740991}}", ""},
		"a message that is not named": {"{kind: Kafka}", belongs},
		"a message of a schedule":     {"{kind: Schedule, kafka: {topic: reports, partition: 0, offset: 0}}", belongs},
		"a message without a topic":   {"{kind: Kafka, kafka: {partition: 0, offset: 0}}", "spec.trigger.kafka.topic"},
		"an offset below zero": {"{kind: Kafka, kafka: {topic: reports, partition: 0, offset: -1}}",
			"spec.trigger.kafka.offset"},
		"a kind nobody knows": {"{kind: Webhook}", "spec.trigger.kind"},
		"no kind":             {"{by: ann}", "spec.trigger.kind"},
		"nobody":              {"{kind: Manual, by: ''}", "spec.trigger.by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, spec(t, "trigger", tc.value))
			checkRefusal(t, err, tc.refusal)
		})
	}
}

func TestATriggerNamesItself(t *testing.T) {
	t.Parallel()
	for want, trigger := range map[string]v1alpha1.Trigger{
		"Manual by ann":                    {Kind: v1alpha1.TriggerManual, By: "ann"},
		"Schedule by nightly (2026-11-30)": {Kind: v1alpha1.TriggerSchedule, By: "nightly", ID: "2026-11-30"},
		"Kafka message reports/3 at offset 991 (m-17) by consumers": {Kind: v1alpha1.TriggerKafka, By: "consumers",
			Kafka: &v1alpha1.KafkaTrigger{Topic: "reports", Partition: 3, Offset: 991, MessageID: "m-17"}},
		"Kafka message reports/0 at offset 0": {Kind: v1alpha1.TriggerKafka, Kafka: &v1alpha1.KafkaTrigger{Topic: "reports"}},
	} {
		if got := trigger.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
