package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// maxResult bounds a result.json that somebody else may have written.
const maxResult = 64 << 20

// WriteJSON writes r as result.json and `sim run --json` have it.
func WriteJSON(w io.Writer, r *Result) error {
	return WriteIndented(w, fmt.Sprintf("the result of %q", r.Scenario), complete(r))
}

// WriteIndented writes a document with nothing in it that a terminal may obey.
func WriteIndented(w io.Writer, what string, document any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("failed to encode %s: %w", what, err)
	}
	_, err := w.Write(plain.JSON(buf.Bytes()))
	return err
}

// ReadBounded reads a document that somebody else may have written.
func ReadBounded(rd io.Reader, what string, document any) error {
	data, err := io.ReadAll(io.LimitReader(rd, maxResult+1))
	if err != nil {
		return fmt.Errorf("failed to read a %s: %w", what, err)
	}
	if len(data) > maxResult {
		return fmt.Errorf("a %s of more than %d bytes", what, maxResult)
	}
	if err := json.Unmarshal(data, document); err != nil {
		return fmt.Errorf("not a %s: %w", what, err)
	}
	return nil
}

// ReadJSON reads what WriteJSON wrote. ScenarioText and the histories are not
// in it.
func ReadJSON(rd io.Reader) (*Result, error) {
	var r Result
	if err := ReadBounded(rd, "result", &r); err != nil {
		return nil, err
	}
	if r.Version == 0 {
		return nil, errors.New("not a result: no version")
	}
	if r.Version > ResultVersion {
		return nil, fmt.Errorf("result version %d: this program reads version %d", r.Version, ResultVersion)
	}
	return &r, nil
}

// complete returns r such that it can always be encoded: a result that was cut
// short may have verdicts that were never reached. r itself stays as it is.
func complete(r *Result) *Result {
	c := *r
	if c.Version == 0 {
		c.Version = ResultVersion
	}
	c.Variants = slices.Clone(r.Variants)
	if c.Variants == nil {
		c.Variants = []Variant{}
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		v.Properties = slices.Clone(v.Properties)
		if v.Properties == nil {
			v.Properties = []PropertyResult{}
		}
		for j := range v.Properties {
			p := &v.Properties[j]
			if !decided(p.Verdict) {
				p.Verdict = checker.Unknown
			}
			if p.Expected > checker.Unknown {
				p.Expected = checker.Unknown
			}
		}
	}
	return &c
}
