package machine

import "testing"

func TestProcessorTimes(t *testing.T) {
	idle, total, err := processorTimes("cpu  10 20 30 400 50 6 7 8 900 1000\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
	if err != nil || idle != 450 || total != 531 {
		t.Errorf("idle %d of %d, error %v; want 450 of 531", idle, total, err)
	}
	for _, strange := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 x 5 6 7 8"} {
		if _, _, err := processorTimes(strange); err == nil {
			t.Errorf("%q: no error", strange)
		}
	}
	i := NewIdle()
	if share, err := i.Share(); i.total > 0 && (err != nil || share < 0 || share > 1) { // on Linux
		t.Errorf("share %v, error %v", share, err)
	}
}
