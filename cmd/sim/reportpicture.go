package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// writePicture writes the picture of a variant, and returns the file.
func (a *cli) writePicture(ctx context.Context, t *trial.Trial, variant, out string, png bool) (string, error) {
	var svg bytes.Buffer
	width, height, err := report.WriteSVG(&svg, t.Result, variant)
	if err != nil {
		return "", app.Usagef("%w", err)
	}
	suffix, data := ".svg", svg.Bytes()
	if png {
		if data, err = rasterize(ctx, data, width, height); err != nil {
			return "", err
		}
		suffix = ".png"
	}
	if out == "" {
		out = filepath.Join(filepath.Dir(t.Report), "report"+suffix)
	}
	return out, a.toOutput(out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// rasterize has a browser draw an SVG, twice as large, so that it stays sharp.
func rasterize(ctx context.Context, svg []byte, width, height int) ([]byte, error) {
	browser := machine.FindBrowser()
	if browser == "" {
		return nil, &app.ExitError{Code: app.ExitEnvironment,
			Err: fmt.Errorf("--png needs Chromium or Chrome, and none was found; --svg needs neither")}
	}
	dir, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, target := filepath.Join(dir, "picture.svg"), filepath.Join(dir, "picture.png")
	if err := os.WriteFile(source, svg, 0o600); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s did not draw the picture within a minute", browser))
	defer stop()
	args := []string{"--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--force-device-scale-factor=2",
		"--user-data-dir=" + filepath.Join(dir, "profile"), fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot=" + target}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to run as root with its sandbox; the page is our own
	}
	if text, err := machine.Output(ctx, browser, append(args, "file://"+source)...); err != nil {
		return nil, fmt.Errorf("%s failed to draw the picture: %w %s", browser, err, text)
	}
	data, err := os.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("%s drew no picture: %w", browser, err)
	}
	return data, nil
}
