package machine

import "testing"

func TestCrowding(t *testing.T) {
	for text, want := range map[string]float64{
		"5.00 3.10 2.00 3/400 1234\n": 2.5, "0.30 1 1 1/2 3": 1, "400.0 1 1 1/2 3": 6, "": 1, "much": 1,
	} {
		if got := crowding(text, 2); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := Crowding(); got < 1 || got > mostCrowded {
		t.Errorf("this machine: %v", got)
	}
}
