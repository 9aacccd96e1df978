package controller

import (
	"fmt"
	"path"
	"strings"
)

// SharedLeaseKeys says which namespaces may use which values of spec.leaseKey. A tenant who may choose any key could take another
// one's lease, so the zero value allows none.
type SharedLeaseKeys []sharedLeaseKeys

type sharedLeaseKeys struct{ namespace, key string }

// ParseSharedLeaseKeys reads patterns of the form "namespace/key", separated by commas; * and ? stand for any characters, as in
// path.Match. The error names the pattern that cannot be read.
func ParseSharedLeaseKeys(text string) (SharedLeaseKeys, error) {
	var allowed SharedLeaseKeys
	for pattern := range strings.SplitSeq(text, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		namespace, key, ok := strings.Cut(pattern, "/")
		if !ok || namespace == "" || key == "" || strings.Contains(key, "/") {
			return nil, fmt.Errorf("%q is not of the form namespace/key, such as finance/group-close or */group-*", pattern)
		}
		for _, part := range []string{namespace, key} {
			if _, err := path.Match(part, ""); err != nil {
				return nil, fmt.Errorf("%q: %w", pattern, err)
			}
		}
		allowed = append(allowed, sharedLeaseKeys{namespace, key})
	}
	return allowed, nil
}

// Allow says whether a ReportJob of a namespace may run under a leaseKey. No leaseKey is always allowed.
func (s SharedLeaseKeys) Allow(namespace, leaseKey string) bool {
	if leaseKey == "" {
		return true
	}
	for _, allowed := range s {
		inNamespace, _ := path.Match(allowed.namespace, namespace) // patterns were checked when they were read
		ofKey, _ := path.Match(allowed.key, leaseKey)
		if inNamespace && ofKey {
			return true
		}
	}
	return false
}
