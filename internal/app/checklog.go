package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// splitLockLogs says which files are lock logs. What cannot be read is none: whoever reads it says why.
func splitLockLogs(files []string, format evidence.Format) (logs, others []string) {
	for _, file := range files {
		if format == evidence.LockLog || format == evidence.Auto && isLockLog(file) {
			logs = append(logs, file)
		} else {
			others = append(others, file)
		}
	}
	return logs, others
}

func isLockLog(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, 512)
	n, _ := io.ReadFull(f, start)
	return locklog.Recognize(start[:n])
}

// checkLockLogs judges lock logs, which are one history.
func (e *Env) checkLockLogs(ctx context.Context, files []string, r request.Check, o evidence.Options, page bool) (*CheckResult, error) {
	if r.Model != "" {
		return nil, Usagef("--model: lock logs are judged by their properties, without a model")
	}
	log := locklog.Log{MaxLines: o.MaxEvents}
	for _, file := range files {
		if err := readLockLog(&log, file); err != nil {
			return nil, Usagef("failed to read the lock log: %w", err)
		}
	}
	if hosts := log.Hosts(); hosts > 1 && r.ClockError <= 0 {
		return nil, Usagef("the lock logs are of %d hosts, and nothing says how far apart their clocks may be", hosts).
			Hint("add --clock-error, such as --clock-error 50ms: the most by which the clocks of any two of them differ")
	}
	h, err := log.History(time.Duration(r.ClockError))
	if err != nil {
		return nil, Usagef("failed to read the lock log: %w", err)
	}
	out := &CheckResult{File: strings.Join(files, ", "), Verdict: checker.Holds, Truncated: h.Truncated, Started: h.Header.Started}
	if len(files) > 3 {
		out.File = fmt.Sprintf("%s and %d other files", files[0], len(files)-1)
	}
	out.Findings = checker.Judge(ctx, h, checker.SafetyProperties(checker.SubjectOf(h)), checker.Options{Timeout: o.Timeout, Memory: o.Memory})
	out.Findings = slices.DeleteFunc(out.Findings, checker.NotInLog)
	var list []report.PropertyResult
	for _, finding := range out.Findings {
		list = append(list, report.Judged(finding, checker.Holds))
		if finding.Verdict == checker.Violated || out.Verdict == checker.Holds {
			out.Verdict = finding.Verdict
		}
	}
	if page {
		out.Page = e.checkResult(out.File, checkLine(r), shown{History: h}, list)
	}
	return out, nil
}

func readLockLog(log *locklog.Log, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return errors.Join(log.Read(file, f), f.Close())
}
