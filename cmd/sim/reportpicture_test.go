package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Without a browser --png says what it needs, and that --svg needs nothing.
func TestPNGNeedsABrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := rasterize(context.Background(), []byte("<svg/>"), 10, 10)
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitEnvironment || !strings.Contains(err.Error(), "--png needs Chromium or Chrome") {
		t.Errorf("without a browser the error is %v", err)
	}
}
