package load

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteTable writes comparisons of the same subjects at rising numbers of callers as one Markdown section. Below the
// table it lists one failure of each row that had any.
func WriteTable(out io.Writer, title string, comparisons []Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", title)
	b.WriteString("| callers | subject | ops/s | p50 | p95 | p99 | errors | ops/s ratio | p50 ratio | p99 ratio |\n")
	b.WriteString("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var failures []string
	for _, c := range comparisons {
		for _, r := range c.Rows {
			writeRow(&b, c.Callers, r)
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

func writeRow(b *strings.Builder, callers int, r Row) {
	if r.Missing != "" {
		fmt.Fprintf(b, "| %d | %s | %s | | | | | | | |\n", callers, r.Subject, r.Missing)
		return
	}
	fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %d | %.2f | %.2f | %.2f |\n", callers, r.Subject, thousands(r.Throughput),
		latency(r.P50), latency(r.P95), latency(r.P99), r.Errors, r.ThroughputRatio, r.P50Ratio, r.P99Ratio)
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
