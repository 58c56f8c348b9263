package load

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const unknown = "unknown"

// Machine says where and with what figures were taken.
type Machine struct {
	CPU      string // model name, or "unknown"
	Cores    int    // logical processors
	Kernel   string // release, or "unknown"
	Go       string
	Date     time.Time
	Fsync    time.Duration // median time to append 4 KiB to a file in the data folder and sync it
	Versions []string      // "name version" of what was compared
}

// Describe looks at the machine. dir is the folder that holds the data of what is compared: on a file system in memory
// a sync costs nothing, which favours whoever syncs most, so the figure belongs beside the others. modules are the
// module paths of this program whose versions to report.
func Describe(dir string, modules ...string) (Machine, error) {
	fsync, err := fsyncTime(dir)
	if err != nil {
		return Machine{}, fmt.Errorf("describe machine: %w", err)
	}
	return Machine{
		CPU:      cpuModel(),
		Cores:    runtime.NumCPU(),
		Kernel:   kernel(),
		Go:       runtime.Version(),
		Date:     time.Now().UTC(),
		Fsync:    fsync,
		Versions: versions(modules),
	}, nil
}

// WriteHeader writes what was run, with what plan, and where, as a Markdown list.
func WriteHeader(out io.Writer, command string, p Plan, m Machine) error {
	_, err := fmt.Fprintf(out, `- Command: %s
- Plan: %v warm-up and %v counted per turn, %d rounds
- Machine: %s, %d logical cores, %s/%s, kernel %s
- Disk: append and sync of 4 KiB in %v
- Versions: %s, %s
- Date: %s

`, "`"+command+"`", p.Warmup, p.Duration, p.Rounds, m.CPU, m.Cores, runtime.GOOS, runtime.GOARCH, m.Kernel,
		latency(m.Fsync), m.Go, strings.Join(m.Versions, ", "), m.Date.Format(time.RFC3339))
	return err
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return unknown
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(string(release))
}

func versions(modules []string) []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var out []string
	for _, dep := range info.Deps {
		if slices.Contains(modules, dep.Path) {
			out = append(out, dep.Path+" "+dep.Version)
		}
	}
	return out
}

func fsyncTime(dir string) (took time.Duration, err error) {
	const appends = 51 // odd and quick; a median needs no more
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	times := make([]time.Duration, appends)
	for i := range times {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	return median(times), nil
}
