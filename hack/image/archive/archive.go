// Package archive writes container images of one layer in the docker-archive format: a tar that holds the layer (itself a
// tar), the image's configuration, named by its SHA-256 digest, and manifest.json, which ties a name to both. Times are the
// Unix epoch, owners are root and entries are sorted, so that the same input gives the same bytes.
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Image describes an image to write.
type Image struct {
	// Name is the full name with its tag, for example docker.io/local/app:1.
	Name string
	// Arch is the GOARCH of the programs inside.
	Arch string
	// User is UID:GID; empty means root.
	User string
	// WorkDir is the folder in which the program starts; empty means the root folder.
	WorkDir string
	// Entrypoint and Cmd are the program and its default arguments, one word each.
	Entrypoint, Cmd []string
	// Env holds NAME=VALUE pairs. PATH is set when it names none.
	Env []string
	// Entries are the files, links and folders. Parent folders need no entry.
	Entries []Entry
}

// epoch is the time of everything in an image.
var epoch = time.Unix(0, 0).UTC()

type config struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      time.Time `json:"created"`
	Config       process   `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []history `json:"history"`
}

type process struct {
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	Cmd        []string `json:"Cmd,omitempty"`
	WorkingDir string   `json:"WorkingDir,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

type manifest struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// Write writes img to w. It fails when a source file cannot be read or when two entries want the same path.
func Write(w io.Writer, img Image) error {
	layer, err := layerTar(img.Entries)
	if err != nil {
		return err
	}
	layerSum := digest(layer)
	cfg, err := json.Marshal(newConfig(img, layerSum))
	if err != nil {
		return err
	}
	cfgName, layerName := digest(cfg)+".json", layerSum+"/layer.tar"
	list, err := json.Marshal([]manifest{{Config: cfgName, RepoTags: []string{img.Name}, Layers: []string{layerName}}})
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	for _, f := range []file{{cfgName, cfg}, {layerName, layer}, {"manifest.json", list}} {
		if err := f.writeTo(tw); err != nil {
			return err
		}
	}
	return tw.Close()
}

func newConfig(img Image, layerSum string) config {
	return config{
		Architecture: img.Arch, OS: "linux", Created: epoch,
		Config: process{
			User: img.User, Env: withPath(img.Env), Entrypoint: img.Entrypoint, Cmd: img.Cmd, WorkingDir: img.WorkDir,
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{"sha256:" + layerSum}},
		History: []history{{Created: epoch, CreatedBy: "hack/image"}},
	}
}

func withPath(env []string) []string {
	for _, pair := range env {
		if strings.HasPrefix(pair, "PATH=") {
			return env
		}
	}
	return append([]string{"PATH=/usr/bin:/bin:/"}, env...)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// file is a member of the outer tar.
type file struct {
	name string
	data []byte
}

func (f file) writeTo(tw *tar.Writer) error {
	head := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: epoch}
	if err := tw.WriteHeader(&head); err != nil {
		return fmt.Errorf("member %s: %w", f.name, err)
	}
	_, err := tw.Write(f.data)
	return err
}
