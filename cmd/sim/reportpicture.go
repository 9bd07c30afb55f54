package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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
		// Twice as large, so that it stays sharp.
		if data, err = draw(ctx, "--png", "picture.svg", data, "--screenshot", "--force-device-scale-factor=2", "--hide-scrollbars",
			fmt.Sprintf("--window-size=%d,%d", width, height)); err != nil {
			return "", err
		}
		suffix = ".png"
	}
	return a.writeBeside(t, out, suffix, data)
}

// writePDF writes the whole page of a run as it is printed, and returns the file.
func (a *cli) writePDF(ctx context.Context, t *trial.Trial, out string) (string, error) {
	var page bytes.Buffer
	if err := report.WriteHTML(&page, t.Result); err != nil {
		return "", err
	}
	data, err := draw(ctx, "--pdf", "report.html", page.Bytes(), "--print-to-pdf", "--no-pdf-header-footer")
	if err != nil {
		return "", err
	}
	return a.writeBeside(t, out, ".pdf", data)
}

// writeBeside writes what was made of a run's report to a file, that of the run's folder if none is named, and returns it.
func (a *cli) writeBeside(t *trial.Trial, out, suffix string, data []byte) (string, error) {
	if out == "" {
		out = filepath.Join(filepath.Dir(t.Report), "report"+suffix)
	}
	return out, a.toOutput(out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// draw has a browser draw a file of ours for a flag of sim report. as is the browser's own flag for what it writes.
func draw(ctx context.Context, flag, name string, page []byte, as string, args ...string) ([]byte, error) {
	browser := machine.FindBrowser()
	if browser == "" {
		return nil, &app.ExitError{Code: app.ExitEnvironment,
			Err: fmt.Errorf("%s needs Chromium or Chrome, and none was found; the page and --svg need neither", flag)}
	}
	dir, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, target := filepath.Join(dir, name), filepath.Join(dir, "drawn."+strings.TrimPrefix(flag, "--"))
	if err := os.WriteFile(source, page, 0o600); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s did not draw the page within a minute", browser))
	defer stop()
	args = append(args, "--headless", "--disable-gpu", "--no-first-run", "--user-data-dir="+filepath.Join(dir, "profile"), as+"="+target)
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to run as root with its sandbox; the page is our own
	}
	if text, err := machine.Output(ctx, browser, append(args, "file://"+source)...); err != nil {
		return nil, fmt.Errorf("%s failed to draw the page: %w %s", browser, err, text)
	}
	data, err := os.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("%s drew nothing: %w", browser, err)
	}
	return data, nil
}
