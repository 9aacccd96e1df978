// Command image writes a container image from files of this machine, without a container engine or a registry:
//
//	image -name docker.io/local/app:1 -out app.tar -entrypoint /app -user 65532:65532 ./build/app=/app
//
// The output is a docker-archive, which docker load, ctr images import and kind load image-archive read. The same input
// gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/leasehold-dev/leasehold/hack/image/archive"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	img := archive.Image{Arch: runtime.GOARCH}
	var out string
	if err := flags(&img, &out, stderr).parse(args); err != nil {
		return err
	}
	if img.Name == "" || out == "" {
		return fmt.Errorf("-name and -out are needed")
	}
	return writeFile(out, img)
}

// parser is a flag set whose remaining arguments are files, SOURCE=DESTINATION.
type parser struct {
	set *flag.FlagSet
	img *archive.Image
}

func flags(img *archive.Image, out *string, stderr io.Writer) parser {
	set := flag.NewFlagSet("image", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&img.Name, "name", "", "full `NAME:TAG` of the image")
	set.StringVar(out, "out", "", "`FILE` to write")
	set.StringVar(&img.Arch, "arch", img.Arch, "`GOARCH` of the programs in the image")
	set.StringVar(&img.User, "user", "", "`UID:GID` the programs run as (default root)")
	set.StringVar(&img.WorkDir, "workdir", "", "`FOLDER` the programs start in")
	set.Func("entrypoint", "one `WORD` of the entrypoint; repeat for more", appendTo(&img.Entrypoint))
	set.Func("cmd", "one `WORD` of the default arguments; repeat for more", appendTo(&img.Cmd))
	set.Func("env", "`NAME=VALUE` of the environment; repeatable", appendTo(&img.Env))
	set.Func("symlink", "`PATH=TARGET`; repeatable", func(arg string) error { return addLink(img, arg) })
	set.Func("dir", "`PATH=MODE`, an empty folder; repeatable", func(arg string) error { return addDir(img, arg) })
	set.Usage = func() {
		fmt.Fprintln(stderr, "usage: image -name NAME:TAG -out FILE [flags] SOURCE=DESTINATION...")
		set.PrintDefaults()
	}
	return parser{set: set, img: img}
}

func (p parser) parse(args []string) error {
	if err := p.set.Parse(args); err != nil {
		return err
	}
	for _, arg := range p.set.Args() {
		src, dst, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("argument %q: want SOURCE=DESTINATION", arg)
		}
		p.img.Entries = append(p.img.Entries, archive.Entry{Path: dst, Source: src})
	}
	return nil
}

func appendTo(list *[]string) func(string) error {
	return func(word string) error {
		*list = append(*list, word)
		return nil
	}
}

func addLink(img *archive.Image, arg string) error {
	path, target, ok := strings.Cut(arg, "=")
	if !ok || target == "" {
		return fmt.Errorf("want PATH=TARGET")
	}
	img.Entries = append(img.Entries, archive.Entry{Path: path, Target: target})
	return nil
}

func addDir(img *archive.Image, arg string) error {
	path, mode, _ := strings.Cut(arg, "=")
	bits, err := strconv.ParseInt(mode, 8, 64)
	if err != nil {
		return fmt.Errorf("want PATH=MODE with an octal mode such as 1777: %w", err)
	}
	img.Entries = append(img.Entries, archive.Entry{Path: path, Dir: true, Mode: bits})
	return nil
}

// writeFile writes the image beside its place and moves it there, so that nobody reads half an image.
func writeFile(out string, img archive.Image) (err error) {
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := archive.Write(f, img); err != nil {
		return fmt.Errorf("image %s: %w", img.Name, err)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}
