package command

import "testing"

// The slots are those that CLUSTER KEYSLOT of Redis 7.0.15 tells.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 12739, "foo": 12182, "{foo}:token": 12182, "a{foo}b{bar}": 12182, "{}foo": 9500, "lock": 8718} {
		if got := Slot(key); got != want {
			t.Errorf("the slot of %q is %d, want %d", key, got, want)
		}
	}
}
