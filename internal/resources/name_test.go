package resources

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

const testExecution = "0123456789abcdef0123456789abcdef"

func TestJobName(t *testing.T) {
	t.Parallel()
	const longest = "9007199254740991"
	for name, tc := range map[string]struct {
		name, token string
		// want is the name without its hash.
		want string
	}{
		"a short name stays whole": {"revenue", "41", "revenue-41-"},
		"dots become dashes":       {"revenue.eu.2026", "41", "revenue-eu-2026-41-"},
		"a long name is cut":       {strings.Repeat("n", 253), longest, strings.Repeat("n", 31) + "-" + longest + "-"},
		"a cut never leaves a dash at the end": {
			strings.Repeat("n", 30) + ".tail", longest, strings.Repeat("n", 30) + "-" + longest + "-",
		},
		"a name may begin with a digit":          {"2026-11", "41", "2026-11-41-"},
		"a name of which nothing is left is met": {"...", "41", "report-41-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := JobName(tc.name, tc.token, testExecution)
			prefix, hash := got[:len(got)-hashLength], got[len(got)-hashLength:]
			if prefix != tc.want {
				t.Errorf("got %s, want %s and a hash", got, tc.want)
			}
			if !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(hash) {
				t.Errorf("hash of %s: %q", got, hash)
			}
		})
	}
}

func TestJobNameDiffersWithEveryPartOfTheExecution(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 60)
	names := map[string]string{}
	for what, name := range map[string]string{
		"the execution":         JobName("revenue", "41", testExecution),
		"another execution":     JobName("revenue", "41", strings.Repeat("f", 32)),
		"another token":         JobName("revenue", "42", testExecution),
		"a name with dots":      JobName("revenue.eu", "41", testExecution),
		"the same with dashes":  JobName("revenue-eu", "41", testExecution),
		"a long name":           JobName(long+"a", "41", testExecution),
		"one of the same start": JobName(long+"b", "41", testExecution),
	} {
		if other, taken := names[name]; taken {
			t.Errorf("%s and %s share the name %s", what, other, name)
		}
		names[name] = what
	}
}

var decimal = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)

func FuzzJobName(f *testing.F) {
	f.Add("revenue", "41", testExecution)
	f.Add(strings.Repeat("n", 253), "9007199254740991", testExecution)
	f.Add("-.-", "", "")
	f.Add("Ünïcode", "1e9", "x")
	f.Fuzz(func(t *testing.T, name, token, execution string) {
		got := JobName(name, token, execution)
		if errs := validation.IsDNS1123Label(got); len(errs) > 0 {
			t.Errorf("JobName(%q, %q, %q) = %q: %v", name, token, execution, got, errs)
		}
		if len(got) > maxJobName {
			t.Errorf("%q has %d characters", got, len(got))
		}
		if decimal.MatchString(token) && !strings.Contains(got, "-"+token+"-") {
			t.Errorf("%q does not contain the token %s", got, token)
		}
		if again := JobName(name, token, execution); again != got {
			t.Errorf("two calls gave %q and %q", got, again)
		}
	})
}

func FuzzLabelValue(f *testing.F) {
	f.Add("revenue")
	f.Add(strings.Repeat("n", 62) + ".n")
	f.Fuzz(func(t *testing.T, name string) {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return
		}
		if errs := validation.IsValidLabelValue(labelValue(name)); len(errs) > 0 {
			t.Errorf("labelValue(%q) = %q: %v", name, labelValue(name), errs)
		}
	})
}
