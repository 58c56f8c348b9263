package load

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Target is what the ratios of one row of a table should come to.
type Target struct {
	Subject string
	Callers int
	// Bounds of the ratios to the baseline; 0 means none.
	MinThroughput float64
	MaxP50        float64
	MaxP99        float64
}

// verdict says for each bound what it is and whether r is within it.
func (t Target) verdict(r Row) string {
	var parts []string
	say := func(figure string, bound float64, met bool) {
		if bound == 0 {
			return
		}
		outcome := "missed"
		if met {
			outcome = "met"
		}
		parts = append(parts, fmt.Sprintf("%s %gx: %s", figure, bound, outcome))
	}
	say("ops/s >=", t.MinThroughput, r.ThroughputRatio >= t.MinThroughput)
	say("p50 <=", t.MaxP50, r.P50Ratio <= t.MaxP50)
	say("p99 <=", t.MaxP99, r.P99Ratio <= t.MaxP99)
	return strings.Join(parts, ", ")
}

// WriteTable writes comparisons of the same subjects at rising numbers of callers as one Markdown section, and beside
// each row that has a target whether it was met. Below the table it lists one failure of each row that had any.
func WriteTable(out io.Writer, title string, comparisons []Comparison, targets []Target) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", title)
	b.WriteString("| callers | subject | ops/s | p50 | p95 | p99 | errors | ops/s ratio | p50 ratio | p99 ratio | target |\n")
	b.WriteString("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	var failures []string
	for _, c := range comparisons {
		for _, r := range c.Rows {
			writeRow(&b, c.Callers, r, targets)
			if r.FirstError != nil {
				failures = append(failures, fmt.Sprintf("- %s, %d callers: `%v`\n", r.Subject, c.Callers, r.FirstError))
			}
		}
	}
	if base := baseline(comparisons); base != "" {
		fmt.Fprintf(&b, "\nRatios are to %s in the same round; every figure is the median over the rounds.\n", base)
	}
	if len(failures) > 0 {
		b.WriteString("\nFailures, one of each row:\n\n" + strings.Join(failures, ""))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(out, b.String())
	return err
}

func writeRow(b *strings.Builder, callers int, r Row, targets []Target) {
	if r.Missing != "" {
		fmt.Fprintf(b, "| %d | %s | %s | | | | | | | | |\n", callers, r.Subject, r.Missing)
		return
	}
	var verdict string
	for _, t := range targets {
		if t.Subject == r.Subject && t.Callers == callers {
			verdict = t.verdict(r)
		}
	}
	fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %d | %.2f | %.2f | %.2f | %s |\n", callers, r.Subject, thousands(r.Throughput),
		latency(r.P50), latency(r.P95), latency(r.P99), r.Errors, r.ThroughputRatio, r.P50Ratio, r.P99Ratio, verdict)
}

func baseline(comparisons []Comparison) string {
	for _, c := range comparisons {
		for _, r := range c.Rows {
			if r.Missing == "" {
				return r.Subject
			}
		}
	}
	return ""
}

// thousands rounds to a whole number and separates groups of three digits: 28,300.
func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// latency keeps three digits or so: 25 us, 1.24 ms, 2.05 s.
func latency(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d us", d.Round(time.Microsecond).Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}
