package trial

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// begin writes what a run is into its folder, so that it can be judged should it be killed.
func (t *trial) begin() error {
	r := t.newResult()
	r.Interrupted = true
	for i := range t.subjects {
		v := &t.subjects[i]
		r.Variants = append(r.Variants, report.Variant{Name: v.Name, Settings: v.Settings, Lock: t.lock(v), NotApplicable: v.notApplicable,
			Interrupted: v.notApplicable == ""})
	}
	return errors.Join(
		machine.WriteFile(filepath.Join(t.dir, runs.Scenario), func(w io.Writer) error { _, err := io.WriteString(w, t.Text); return err }),
		machine.WriteFile(filepath.Join(t.dir, runs.Started), func(w io.Writer) error { return report.WriteJSON(w, r) }),
	)
}

// store writes result and page into the run's folder and points latest at it.
func (t *trial) store(r *report.Result) (page string, err error) {
	page = filepath.Join(t.dir, runs.Report)
	err = errors.Join(
		machine.WriteFile(filepath.Join(t.dir, runs.Result), func(w io.Writer) error { return report.WriteJSON(w, r) }),
		writePage(page, r),
		t.storeAside(r),
		runs.PointLatest(t.Out, t.dir),
	)
	if err == nil {
		err = os.Remove(filepath.Join(t.dir, runs.Started))
	}
	return page, err
}
