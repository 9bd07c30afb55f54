package words

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 keys": Count(0, "key"), "1 key": Count(1, "key"), "2 keys": Count(2, "key"),
		"1 try": Count(1, "try"), "3 tries": Count(3, "try"), "2 properties": Count(uint64(2), "property"),
		"1 later grant": Count(1, "later grant"), "1500 later grants": Count(1500, "later grant"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
