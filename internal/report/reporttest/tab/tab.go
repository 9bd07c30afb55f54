// Package tab shows pages in a real browser, for tests.
package tab

import (
	"bytes"
	"context"
	_ "embed" // the script that measures
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// browser is the one of all tabs of a test process: each start takes a second of processor time.
type browser struct {
	mu    sync.Mutex
	ctx   context.Context
	close func()
}

var shared browser

// open starts the browser, unless it runs.
func (b *browser) open() (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil {
		return b.ctx, nil
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium()), chromedp.NoSandbox, chromedp.WSURLReadTimeout(suite.Patience))
	ctx, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, endFirst := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		endFirst()
		end()
		return nil, err
	}
	b.ctx, b.close = ctx, func() { endFirst(); end() }
	return ctx, nil
}

type closing struct{ tests suite.Runner }

// Tests is for the TestMain of a package with tests in a browser: Run runs its tests, and then ends the browser.
func Tests(m suite.Runner) suite.Runner { return closing{m} }

func (c closing) Run() int {
	defer func() {
		if shared.close != nil {
			shared.close()
		}
	}()
	return c.tests.Run()
}

// Tab is a browser's tab that notes what a page must not do.
type Tab struct {
	T   testing.TB
	Ctx context.Context

	mu       sync.Mutex
	troubles []string
	requests []string
}

var chromium = sync.OnceValue(machine.FindBrowser)

// New opens a tab that shares nothing with others, such as what pages store. Without a browser the test is
// skipped on a developer's machine; in CI it fails, since nobody would notice
// a skip there.
func New(t testing.TB) *Tab {
	t.Helper()
	if chromium() == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium was found, and CI is set")
		}
		suite.Lacks(t, "chromium, to test the pages in a browser")
	}
	ctx, err := shared.open()
	if err != nil {
		t.Fatalf("failed to start %s: %v", chromium(), err)
	}
	ctx, cancelTab := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancelTab)
	tab := &Tab{T: t, Ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("failed to open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, tab.note); err != nil {
		t.Fatal(err)
	}
	call(tab, network.Enable, network.EnableParams{})
	call(tab, log.Enable, cdp.Empty{})
	call(tab, runtime.Enable, cdp.Empty{})
	call(tab, page.Enable, page.EnableParams{})
	return tab
}

func (b *Tab) note(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		b.troubles = append(b.troubles, "console: "+string(ev.Type))
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, "exception: "+ev.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.troubles = append(b.troubles, "log: "+ev.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *page.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog: "+ev.Message)
		go func() {
			_, _ = chromedp.Call(b.Ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	}
}

func call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, suite.Patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		b.T.Fatalf("%T: %v", params, err)
	}
}

// Do runs actions, which together may take as long as a test waits.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, suite.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.T.Fatal(err)
	}
}

// Get runs an action and returns its value.
func Get[R any](b *Tab, action chromedp.Action[R]) R {
	b.T.Helper()
	return get(b, action, "an action")
}

func get[R any](b *Tab, action chromedp.Action[R], what string) R {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, suite.Patience)
	defer cancel()
	out, err := chromedp.Run(ctx, action)
	if err != nil {
		b.T.Fatalf("%v: %s", err, what)
	}
	return out
}

// Eval runs a JavaScript expression and returns its value, or what it promises.
func Eval[R any](b *Tab, expression string) R {
	b.T.Helper()
	return get(b, chromedp.Evaluate[R](expression, chromedp.EvalAwaitPromise), expression)
}

// Size sets the size of the window.
func (b *Tab) Size(width, height int64) {
	b.T.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
}

// OpenFile shows a page from disk and returns its address.
func (b *Tab) OpenFile(html []byte) string {
	b.T.Helper()
	path := filepath.Join(b.T.TempDir(), "report.html")
	if err := os.WriteFile(path, html, 0o644); err != nil {
		b.T.Fatal(err)
	}
	b.Do(chromedp.Navigate("file://" + path))
	return "file://" + path
}

// Dark chooses the colour scheme.
func (b *Tab) Dark(on bool) {
	b.T.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// WithoutScripts turns scripts off for the pages to come.
func (b *Tab) WithoutScripts() {
	b.T.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Print renders the page on paper.
func (b *Tab) Print(paper chromedp.PaperSize) []byte {
	b.T.Helper()
	return Get(b, chromedp.PrintToPDF(chromedp.PDFPaper(paper), chromedp.PDFPrintBackground()))
}

//go:embed layout.js
var layout string

// Readable shows a page in windows of three widths, light and dark, and fails where a reader would
// stumble: the document or a part of it scrolls sideways, a word is broken, a text lies over
// another, or its contrast is below 4.5:1.
func (b *Tab) Readable(name string, show func()) {
	b.T.Helper()
	for _, width := range []int64{1400, 800, 390} {
		b.Size(width, 900)
		show()
		for _, dark := range []bool{false, true} {
			b.Dark(dark)
			if found := Eval[[]string](b, layout); len(found) > 0 {
				b.T.Errorf("%s at %d px, dark %v: %d troubles:\n%s", name, width, dark, len(found), strings.Join(found[:min(len(found), 12)], "\n"))
			}
		}
	}
}

// Troubles is what the pages complained of so far.
func (b *Tab) Troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.troubles...)
}

// Quiet fails the test where a page complained, or asked for anything that
// does not begin with prefix, and that it has not made itself.
func (b *Tab) Quiet(prefix string) {
	b.T.Helper()
	for _, trouble := range b.Troubles() {
		b.T.Errorf("the page complained: %s", trouble)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, prefix) && !strings.HasPrefix(url, "blob:") && url != "data:," {
			b.T.Errorf("the page asked for %s", url)
		}
	}
}

var pageObject = regexp.MustCompile(`/Type\s*/Page\b[^s]`)

// Pages counts the pages of a printed document: with poppler where it is there, else in the file.
func (b *Tab) Pages(pdf []byte) int {
	b.T.Helper()
	if path, err := exec.LookPath("pdfinfo"); err == nil {
		cmd := exec.Command(path, "-")
		cmd.Stdin = bytes.NewReader(pdf)
		out, err := suite.Output(b.T, cmd)
		if err != nil {
			b.T.Fatal(err)
		}
		var n int
		for line := range strings.Lines(string(out)) {
			if rest, ok := strings.CutPrefix(line, "Pages:"); ok {
				for _, digit := range strings.TrimSpace(rest) {
					n = n*10 + int(digit-'0')
				}
			}
		}
		return n
	}
	return len(pageObject.FindAll(pdf, -1))
}
