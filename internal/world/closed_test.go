package world

import (
	"encoding"
	"fmt"
	"strings"
	"testing"
)

// TestClosedTypesReadWhatTheyWrite: each constant has a name of its own, and nothing
// else is read or written.
func TestClosedTypesReadWhatTheyWrite(t *testing.T) {
	readsWhatItWrites(t, Both, Requests, Answers)
	readsWhatItWrites(t, WallClock, MonotonicClock)
	readsWhatItWrites(t, NoPersistence, RDB, AOFNo, AOFEverysec, AOFAlways)
	readsWhatItWrites(t, KeepData, KeepNothing, KeepSynced, KeepTorn, KeepFlipped)
	readsWhatItWrites(t, Takeover, ForcedFailover, PlainFailover)
	readsWhatItWrites(t, KeysFirst, KeysLast, KeysLeft, KeysAtomic)
}

func readsWhatItWrites[T interface {
	~uint8
	encoding.TextMarshaler
	fmt.Stringer
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, values ...T) {
	t.Helper()
	seen := make(map[string]bool)
	for _, v := range values {
		text, err := v.MarshalText()
		if err != nil || seen[string(text)] || v.String() != string(text) {
			t.Errorf("%v: %q, %v", v, text, err)
		}
		seen[string(text)] = true
		var back T
		if err := P(&back).UnmarshalText(text); err != nil || back != v {
			t.Errorf("%q comes back as %v, %v", text, back, err)
		}
	}
	var none T
	for _, bad := range []string{"", "cow", "None"} {
		if err := P(&none).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, none)
		}
	}
	if text, err := T(len(values)).MarshalText(); err == nil {
		t.Errorf("%T %d was written as %q", none, len(values), text)
	}
}

// TestEachDisturbanceIsAPower of its own, with the same name.
func TestEachDisturbanceIsAPower(t *testing.T) {
	seen := make(map[Power]bool)
	for k := Latency; k <= Refuse; k++ {
		p := k.Power()
		if seen[p] || p.String() != k.String() || strings.Contains(k.String(), "(") {
			t.Errorf("%v has the power %v", k, p)
		}
		seen[p] = true
	}
	for _, k := range []DisturbanceKind{0, Refuse + 1} {
		if k.Power() != 0 || (Disturbance{Kind: k}).Check() == nil {
			t.Errorf("%v is a disturbance", k)
		}
	}
}

// TestSpecIsRefusedByPower: a power that there is not is refused by its number.
func TestSpecIsRefusedByPower(t *testing.T) {
	s := Spec{Needs: []Power{PausePower, Stall.Power(), Cut.Power()}}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	s.Needs = append(s.Needs, RefusePower+1)
	if err := s.Check(); err == nil || err.Error() != "no power 22" {
		t.Error(err)
	}
}
