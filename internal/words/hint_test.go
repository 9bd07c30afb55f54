package words

import (
	"errors"
	"fmt"
	"testing"
)

// TestHinted: the hint is the last line of whatever wraps it, and what is behind it can be found.
func TestHinted(t *testing.T) {
	lost := errors.New("lost")
	err := fmt.Errorf("file a: %w", WithHint(fmt.Errorf("it is %w", lost), "look under the sofa"))
	if want := "file a: it is lost\nhint: look under the sofa"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	var hinted *Hinted
	if !errors.As(err, &hinted) || hinted.Hint != "look under the sofa" || !errors.Is(err, lost) {
		t.Errorf("the hint %+v, the error %v", hinted, err)
	}
}
