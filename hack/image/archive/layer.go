package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Entry is one thing in the layer: a file when Source is set, a symbolic link when Target is set, a folder when Dir is set.
type Entry struct {
	// Path is where it lies in the image; a leading slash may be left out.
	Path string
	// Source is a file of this machine. Links are followed; an executable file becomes 0755, any other 0644.
	Source string
	// Target is what a symbolic link points to.
	Target string
	// Dir asks for a folder with Mode, the permission bits as in chmod (01777 for a folder such as /tmp).
	Dir  bool
	Mode int64
}

// clean is the path as a layer names it: relative, without a trailing slash.
func (e Entry) clean() string { return strings.TrimPrefix(path.Clean("/"+e.Path), "/") }

func layerTar(entries []Entry) ([]byte, error) {
	byPath := map[string]Entry{}
	for _, e := range entries {
		name := e.clean()
		if name == "" {
			return nil, fmt.Errorf("entry %+v: it needs a path below /", e)
		}
		if _, twice := byPath[name]; twice {
			return nil, fmt.Errorf("path /%s: two entries want it", name)
		}
		byPath[name] = e
	}
	addParents(byPath)
	return writeLayer(byPath)
}

func addParents(byPath map[string]Entry) {
	for _, name := range slices.Collect(maps.Keys(byPath)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := byPath[dir]; !there {
				byPath[dir] = Entry{Path: dir, Dir: true, Mode: 0o755}
			}
		}
	}
}

// writeLayer writes entries sorted by path, which puts a folder before what lies in it.
func writeLayer(byPath map[string]Entry) ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		if err := writeEntry(tw, name, byPath[name]); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func writeEntry(tw *tar.Writer, name string, e Entry) error {
	switch {
	case e.Dir:
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: e.Mode, ModTime: epoch})
	case e.Target != "":
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: e.Target, Mode: 0o777, ModTime: epoch})
	default:
		return writeSource(tw, name, e.Source)
	}
}

func writeSource(tw *tar.Writer, name, source string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	head := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: mode, ModTime: epoch}
	if err := tw.WriteHeader(&head); err != nil {
		return fmt.Errorf("file /%s: %w", name, err)
	}
	_, err = tw.Write(data)
	return err
}
