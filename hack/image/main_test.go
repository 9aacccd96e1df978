package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunWritesTheImageOfItsArguments(t *testing.T) {
	out := filepath.Join(t.TempDir(), "app.tar")
	err := run([]string{
		"-name", "docker.io/local/app:1", "-out", out, "-arch", "arm64", "-user", "1:2", "-workdir", "/w",
		"-entrypoint", "/app", "-entrypoint", "run", "-cmd", "now", "-env", "A=b",
		"-symlink", "/bin/sh=app", "-dir", "/tmp=1777", "main.go=/src/main.go",
	}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"RepoTags":["docker.io/local/app:1"]`, `"architecture":"arm64"`, `"User":"1:2"`, `"Entrypoint":["/app","run"]`,
		`"Cmd":["now"]`, `"A=b"`, `"WorkingDir":"/w"`, "bin/sh", "src/main.go", "package main",
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the image does not hold %q", want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no name":                      {[]string{"-out", "x"}, "-name and -out are needed"},
		"no output":                    {[]string{"-name", "x:1"}, "-name and -out are needed"},
		"a file without a destination": {[]string{"-name", "x:1", "-out", "x", "main.go"}, "want SOURCE=DESTINATION"},
		"a link without a target":      {[]string{"-symlink", "/bin/sh"}, "want PATH=TARGET"},
		"a folder without a mode":      {[]string{"-dir", "/tmp"}, "want PATH=MODE"},
		"a folder with a decimal mode": {[]string{"-dir", "/tmp=rwx"}, "want PATH=MODE"},
		"a flag that it does not know": {[]string{"-push"}, "flag provided but not defined"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var stderr strings.Builder
			err := run(tc.args, &stderr)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
		})
	}
}

func TestAFailedRunLeavesTheOldImageAndNoHalfOne(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "app.tar")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-name", "x:1", "-out", out, "missing=/a"}, os.Stderr); err == nil {
		t.Fatal("a missing source was accepted")
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "old" || len(files) != 1 {
		t.Errorf("after the failure: %q, %v, files %v", data, err, files)
	}
}
