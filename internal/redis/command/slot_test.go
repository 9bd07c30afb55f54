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

func TestParseSlots(t *testing.T) {
	for text, want := range map[string][2]int{"93": {93, 93}, "0-5460": {0, 5460}} {
		if first, last, err := ParseSlots(text); err != nil || [2]int{first, last} != want {
			t.Errorf("%s: %d to %d, %v", text, first, last, err)
		}
	}
	for _, text := range []string{"", "a", "1-", "-1-2", "[93->-abc]"} {
		if _, _, err := ParseSlots(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
