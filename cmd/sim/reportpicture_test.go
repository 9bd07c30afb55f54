package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app"
)

// Without a browser --png says what it needs, and that --svg needs nothing.
func TestPNGNeedsABrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := draw(context.Background(), "--png", "picture.svg", []byte("<svg/>"), "png", "--screenshot")
	var exit *app.ExitError
	if !errors.As(err, &exit) || exit.Code != app.ExitEnvironment || !strings.Contains(err.Error(), "--png needs Chromium or Chrome") {
		t.Errorf("without a browser the error is %v", err)
	}
}
