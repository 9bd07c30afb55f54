package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// margin is what the picture of the card has around it.
const margin = `document.querySelector("#guarantees").style.padding = "12px 20px"`

// settled is the playground's own word that it has drawn what it was told.
const settled = `(async () => { await window.playground.ready; await window.playground.idle(); return true })()`

func main() {
	card := flag.String("card", "", "a card.html of sim audit")
	play := flag.String("play", "", "the page of the playground (make play writes it)")
	out := flag.String("o", "docs/images", "the folder of the pictures")
	flag.Parse()
	if err := draw(*card, *play, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func draw(card, play, out string) error {
	if card == "" || play == "" {
		return errors.New("-card and -play name the pages to draw; make pictures makes them")
	}
	browser := machine.FindBrowser()
	if browser == "" {
		return errors.New("this needs Chromium or Chrome; make test installs one")
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox) // the pages are our own
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()

	cardPage, errCard := page(card)
	playPage, errPlay := page(play)
	if err := errors.Join(errCard, errPlay); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1100, 900), chromedp.Navigate(cardPage)); err != nil {
		return fmt.Errorf("failed to open %s: %w", card, err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string](margin)); err != nil {
		return fmt.Errorf("%s has no guarantees: %w", card, err)
	}
	if err := save(ctx, out, "card.png", chromedp.Screenshot("#guarantees", chromedp.NodeVisible)); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1400, 860), chromedp.Navigate(playPage),
		chromedp.WaitReady("#play[data-state]")); err != nil {
		return fmt.Errorf("failed to open %s: %w", play, err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](settled, chromedp.EvalAwaitPromise)); err != nil {
		return fmt.Errorf("%s does not draw: %w", play, err)
	}
	return save(ctx, out, "playground.png", chromedp.CaptureScreenshot())
}

func save(ctx context.Context, out, name string, picture chromedp.Action[[]byte]) error {
	data, err := chromedp.Run(ctx, picture)
	if err != nil {
		return fmt.Errorf("failed to draw %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(out, name), data, 0o644)
}

// page is the address of a file that is there.
func page(file string) (string, error) {
	whole, err := filepath.Abs(file)
	if err == nil {
		_, err = os.Stat(whole)
	}
	return "file://" + whole, err
}
