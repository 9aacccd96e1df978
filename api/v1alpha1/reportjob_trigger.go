package v1alpha1

import "fmt"

// Trigger says what caused a report. The operator takes no decision by it: it carries it on, so that the question of what
// started an execution always has an answer.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'Kafka') == has(self.kafka)",message="kafka belongs to kind Kafka, and only to it",fieldPath=".kafka"
type Trigger struct {
	// kind is Manual, Schedule, Kafka, Retry or API.
	// +required
	Kind TriggerKind `json:"kind,omitempty"`

	// by names who or what caused the report: a user, a schedule, a consumer group, a service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by,omitempty"`

	// id names the cause itself: the fire time of a schedule, the ID of a request, the execution that is repeated.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id,omitempty"`

	// kafka is the message that caused the report.
	// +optional
	Kafka *KafkaTrigger `json:"kafka,omitempty"`
}

// Text names the trigger in a few words: its kind, who, and the ID or the message.
func (t *Trigger) Text() string {
	text := string(t.Kind)
	if t.Kafka != nil {
		text += fmt.Sprintf(" message %s/%d at offset %d", t.Kafka.Topic, t.Kafka.Partition, t.Kafka.Offset)
		if t.Kafka.MessageID != "" {
			text += " (" + t.Kafka.MessageID + ")"
		}
	}
	if t.By != "" {
		text += " by " + t.By
	}
	if t.ID != "" {
		text += " (" + t.ID + ")"
	}
	return text
}

// TriggerKind is the kind of a trigger.
//
// +kubebuilder:validation:Enum=Manual;Schedule;Kafka;Retry;API
type TriggerKind string

// The kinds of triggers.
const (
	// TriggerManual: a person.
	TriggerManual TriggerKind = "Manual"
	// TriggerSchedule: a schedule.
	TriggerSchedule TriggerKind = "Schedule"
	// TriggerKafka: a message.
	TriggerKafka TriggerKind = "Kafka"
	// TriggerRetry: an earlier report that did not succeed.
	TriggerRetry TriggerKind = "Retry"
	// TriggerAPI: a request to a service.
	TriggerAPI TriggerKind = "API"
)

// KafkaTrigger names a message.
type KafkaTrigger struct {
	// topic is the topic that the message is in.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	Topic string `json:"topic,omitempty"`

	// partition is the partition of the topic, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	Partition int32 `json:"partition"`

	// offset is the place of the message in its partition, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	Offset int64 `json:"offset"`

	// messageID is the message's own identity, as the application knows it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	MessageID string `json:"messageID,omitempty"`
}
