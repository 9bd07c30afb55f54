package locktest

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// mostSteps bounds how often the bytes of a fuzz test change a schedule.
const mostSteps = 8

// Fuzz lets go test -fuzz look for runs that violate a property. The bytes are the schedule:
// the first eight say what is drawn, and each further eight change it.
func Fuzz(f *testing.F, c Config, open func(Env) (Lock, error)) {
	for seed := range uint64(4) {
		f.Add(binary.LittleEndian.AppendUint64(nil, seed))
	}
	f.Fuzz(func(t *testing.T, schedule []byte) {
		k := newKit(t, c, open)
		for _, p := range k.what.Properties {
			found, err := k.what.By(lineage(schedule), p)
			again := 0
			if err == nil {
				again, err = k.what.Repeats(t.Context(), found, 1)
			}
			if err != nil {
				t.Fatal(explained(err))
			}
			if again > 0 {
				k.fail(t, []explore.Found{found}, one(p), time.Second)
			}
		}
	})
}

// one is the report of a single run, which violated a property.
func one(p checker.Property) *explore.Report {
	return &explore.Report{Runs: 1, Classes: []explore.Class{{Name: string(p), Runs: 1}}}
}

// lineage reads bytes as the seeds that make a schedule.
func lineage(b []byte) (list explore.Lineage) {
	for len(b) >= 8 && len(list) < mostSteps {
		list = append(list, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(list) == 0 {
		var rest [8]byte
		copy(rest[:], b)
		list = append(list, binary.LittleEndian.Uint64(rest[:]))
	}
	return list
}
