// Command manager is the Leasehold operator: it runs ReportJobs under leases in Redis.
//
// Flags are read into options, and run does the rest until its context ends. The exit code is 0 after a stop by signal, 2 for
// flags that cannot be used, and 1 for everything else, the loss of leadership included.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker: -ldflags "-X main.version=v0.1.0".
var version = "dev"

func main() {
	os.Exit(execute())
}

func execute() int {
	opts, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case opts.showVersion:
		_, _ = fmt.Fprintln(os.Stdout, version)
		return 0
	}
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		return 1
	}
	return 0
}
