package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// maxJobName is the longest name of a Job whose pods still carry it whole. The API server cuts the base of a generated
	// pod name, with its dash, to 58 characters.
	maxJobName = 57
	// maxLabelValue is the longest label value that Kubernetes takes.
	maxLabelValue = 63
	// hashLength is how many hex digits of the hash a name carries: 32 bits.
	hashLength = 8
	// maxToken is the length of the longest fencing token, 2^53 in decimal.
	maxToken = 16
	// fallbackBase stands for a ReportJob's name of which nothing is left.
	fallbackBase = "report"
)

var notInLabel = regexp.MustCompile(`[^a-z0-9-]+`)

// JobName returns the name of the Job of one execution: the ReportJob's name, cut where it must be, the fencing token in
// decimal and a hash of name, token and execution ID. It is a DNS label of at most 57 characters, so that the names of the
// pods carry it whole. Two executions never share a name, since the Job controller can wedge on a name that is deleted
// and made again (kubernetes issue 142142).
func JobName(name, token, executionID string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + token + "\x00" + executionID))
	token = label(token)
	suffix := "-" + token[:min(len(token), maxToken)] + "-" + hex.EncodeToString(sum[:])[:hashLength]
	base := label(name)
	base = strings.TrimRight(base[:min(len(base), maxJobName-len(suffix))], "-")
	if base == "" {
		base = fallbackBase
	}
	return base + suffix
}

// label makes s a DNS label of any length, or the empty string.
func label(s string) string {
	return strings.Trim(notInLabel.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// labelValue cuts the name of an object to what fits into a label value.
func labelValue(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	return strings.TrimRight(name[:maxLabelValue], "-._")
}
