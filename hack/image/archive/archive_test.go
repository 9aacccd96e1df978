package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/leasehold-dev/leasehold/hack/image/archive"
)

// member is what a test looks at in a tar.
type member struct {
	Name, Link, Data string
	Kind             byte
	Mode             int64
}

func readTar(t *testing.T, r io.Reader) []member {
	t.Helper()
	var members []member
	for tr := tar.NewReader(r); ; {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if head.ModTime.Unix() != 0 || head.Uid != 0 || head.Gid != 0 {
			t.Errorf("%s: time %v, owner %d:%d; want the epoch and root", head.Name, head.ModTime, head.Uid, head.Gid)
		}
		members = append(members, member{head.Name, head.Linkname, string(data), head.Typeflag, head.Mode})
	}
}

func source(t *testing.T, name string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("content of "+name), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t *testing.T, img archive.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := archive.Write(&buf, img); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sample(t *testing.T) archive.Image {
	t.Helper()
	return archive.Image{
		Name: "docker.io/local/app:1", Arch: "amd64", User: "65532:65532", WorkDir: "/data",
		Entrypoint: []string{"/bin/app"}, Cmd: []string{"serve"}, Env: []string{"A=b"},
		Entries: []archive.Entry{
			{Path: "/usr/lib/conf", Source: source(t, "conf", 0o600)},
			{Path: "/bin/app", Source: source(t, "app", 0o700)},
			{Path: "/bin/sh", Target: "app"},
			{Path: "/tmp/", Dir: true, Mode: 0o1777},
		},
	}
}

func TestLayerHoldsFilesLinksAndFoldersInOrder(t *testing.T) {
	members := readTar(t, bytes.NewReader(write(t, sample(t))))
	if len(members) != 3 {
		t.Fatalf("members: %d, want configuration, layer and manifest", len(members))
	}
	got := readTar(t, strings.NewReader(members[1].Data))
	want := []member{
		{Name: "bin/", Kind: tar.TypeDir, Mode: 0o755},
		{Name: "bin/app", Kind: tar.TypeReg, Mode: 0o755, Data: "content of app"},
		{Name: "bin/sh", Kind: tar.TypeSymlink, Mode: 0o777, Link: "app"},
		{Name: "tmp/", Kind: tar.TypeDir, Mode: 0o1777},
		{Name: "usr/", Kind: tar.TypeDir, Mode: 0o755},
		{Name: "usr/lib/", Kind: tar.TypeDir, Mode: 0o755},
		{Name: "usr/lib/conf", Kind: tar.TypeReg, Mode: 0o644, Data: "content of conf"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("layer:\n got %+v\nwant %+v", got, want)
	}
}

func TestManifestNamesConfigurationAndLayerByTheirDigests(t *testing.T) {
	members := readTar(t, bytes.NewReader(write(t, sample(t))))
	var list []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(members[2].Data), &list); err != nil {
		t.Fatal(err)
	}
	cfg, layer := sum(members[0].Data), sum(members[1].Data)
	if members[0].Name != cfg+".json" || list[0].Config != cfg+".json" {
		t.Errorf("configuration %s, manifest says %s, digest %s", members[0].Name, list[0].Config, cfg)
	}
	if members[1].Name != layer+"/layer.tar" || list[0].Layers[0] != layer+"/layer.tar" {
		t.Errorf("layer %s, manifest says %s, digest %s", members[1].Name, list[0].Layers, layer)
	}
	if list[0].RepoTags[0] != "docker.io/local/app:1" {
		t.Errorf("name %s", list[0].RepoTags)
	}
	if !strings.Contains(members[0].Data, `"diff_ids":["sha256:`+layer+`"]`) {
		t.Errorf("the configuration does not name layer %s: %s", layer, members[0].Data)
	}
}

func TestConfigurationSaysHowTheProgramRuns(t *testing.T) {
	members := readTar(t, bytes.NewReader(write(t, sample(t))))
	want := `"config":{"User":"65532:65532","Env":["PATH=/usr/bin:/bin:/","A=b"],"Entrypoint":["/bin/app"],` +
		`"Cmd":["serve"],"WorkingDir":"/data"}`
	if !strings.Contains(members[0].Data, want) {
		t.Errorf("configuration:\n got %s\nwant it to contain %s", members[0].Data, want)
	}
}

func TestAPathOfOnesOwnReplacesTheDefault(t *testing.T) {
	img := sample(t)
	img.Env = []string{"PATH=/opt"}
	if data := readTar(t, bytes.NewReader(write(t, img)))[0].Data; !strings.Contains(data, `"Env":["PATH=/opt"]`) {
		t.Errorf("configuration: %s", data)
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	img := sample(t)
	first := write(t, img)
	img.Entries[0], img.Entries[3] = img.Entries[3], img.Entries[0]
	if !bytes.Equal(first, write(t, img)) {
		t.Error("two images of the same entries differ")
	}
}

func TestWriteRefuses(t *testing.T) {
	tests := map[string]struct {
		entries []archive.Entry
		want    string
	}{
		"two entries for one path": {[]archive.Entry{{Path: "/a", Target: "b"}, {Path: "a/", Dir: true}}, "two entries want it"},
		"an entry for the root":    {[]archive.Entry{{Path: "/", Dir: true}}, "needs a path below /"},
		"a source that is missing": {[]archive.Entry{{Path: "/a", Source: "/does/not/exist"}}, "/does/not/exist"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := archive.Write(io.Discard, archive.Image{Name: "x:1", Entries: tc.entries})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
		})
	}
}

func sum(data string) string {
	s := sha256.Sum256([]byte(data))
	return hex.EncodeToString(s[:])
}
