package main

import (
	"bytes"
	"cmp"
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
		// Twice as large, so that it stays sharp.
		if data, err = draw(ctx, "--png", "picture.svg", data, "png", "--screenshot", "--force-device-scale-factor=2", "--hide-scrollbars",
			fmt.Sprintf("--window-size=%d,%d", width, height)); err != nil {
			return "", err
		}
		suffix = ".png"
	}
	out = cmp.Or(out, beside(t, suffix))
	return out, a.toOutput(out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// printPage writes a page as a PDF, as it is printed. flag is what asked for it.
func printPage(ctx context.Context, w io.Writer, flag string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	data, err := draw(ctx, flag, "page.html", page.Bytes(), "pdf", "--print-to-pdf", "--no-pdf-header-footer")
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// beside is the file beside a run's report that another form of it has if none is named.
func beside(t *trial.Trial, suffix string) string {
	return filepath.Join(filepath.Dir(t.Report), "report"+suffix)
}

// draw has a browser draw a file of ours for a flag. kind is the ending of what it writes, as its own flag for that.
func draw(ctx context.Context, flag, name string, page []byte, kind, as string, args ...string) ([]byte, error) {
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
	source, target := filepath.Join(dir, name), filepath.Join(dir, "drawn."+kind)
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
