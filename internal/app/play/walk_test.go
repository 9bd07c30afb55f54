package play_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
	"github.com/redlock-sim/redlock-sim/internal/app/play/engine"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

func outcome(b *tab.Tab) string {
	b.T.Helper()
	settled(b)
	return tab.Eval[string](b, `document.querySelector(".told-head .outcome").textContent.trim()`)
}

func yaml(b *tab.Tab) string {
	b.T.Helper()
	settled(b)
	return tab.Eval[string](b, `playground.state.yaml`)
}

// control is the first input of the control with a label, as an expression.
func control(label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".control")]`+
		`.find((c) => c.querySelector("label").textContent === %q).querySelector(".inputs > *")`, label)
}

// set gives a control a value, as its user does.
func set(b *tab.Tab, label, value string) {
	b.T.Helper()
	tab.Eval[any](b, fmt.Sprintf(`(() => { const c = %s; c.value = %q; `+
		`c.dispatchEvent(new Event("input")); c.dispatchEvent(new Event("change")); return true; })()`, control(label), value))
	settled(b)
}

// drag moves the pointer by so many pixels from a place of an element, given as shares of its width and height.
func drag(b *tab.Tab, selector string, x, y, by float64) {
	b.T.Helper()
	tab.Eval[any](b, fmt.Sprintf(`(() => {
		const el = document.querySelector(%q), box = el.getBoundingClientRect();
		const at = { clientX: box.left + %v * box.width, clientY: box.top + %v * box.height, button: 0, bubbles: true, pointerId: 1 };
		(document.elementFromPoint(at.clientX, at.clientY).closest(%[1]q) ?? el)
			.dispatchEvent(new PointerEvent("pointerdown", { ...at, cancelable: true }));
		for (const share of [0.3, 0.6, 1])
			document.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX + share * %[4]v }));
		document.dispatchEvent(new PointerEvent("pointerup", at));
		return true;
	})()`, selector, x, y, by))
	settled(b)
}

// A semaphore has permits, and no other lock does.
func TestPermits(t *testing.T) {
	b, _ := open(t, "#scenario=gc-pause&seed=42")
	settled(b)
	if tab.Eval[bool](b, control("permits")+`.offsetParent !== null`) {
		t.Error("redlock is asked for its permits")
	}
	b, _ = open(t, "#scenario=semaphore-counter&seed=1")
	if got := outcome(b); !strings.Contains(got, "violated") || !tab.Eval[bool](b, control("permits")+`.offsetParent !== null`) {
		t.Errorf("with two permits: %s", got)
	}
	set(b, "permits", "3")
	if got := outcome(b); !strings.Contains(got, "Nothing violated") || !strings.Contains(yaml(b), "permits: 3") {
		t.Errorf("with three permits: %s\n%s", got, yaml(b))
	}
}

// A reader's way: the pause is given a length, and a ttl above it keeps what one below it breaks.
func TestTTLAboveThePause(t *testing.T) {
	b, url := open(t, "#scenario=gc-pause&seed=42")
	if got := outcome(b); !strings.Contains(got, "3 of") || !strings.Contains(got, "violated") {
		t.Errorf("at first: %s", got)
	}
	set(b, "for", "1500ms")
	tab.Eval[any](b, `[...document.querySelectorAll(".fault button")].find((x) => x.textContent === "Remove until").click() ?? true`)
	if got := yaml(b); !strings.Contains(got, "for: 1500ms") || strings.Contains(got, "until:") {
		t.Errorf("the pause:\n%s", got)
	}
	if got := outcome(b); !strings.Contains(got, "violated") || strings.Contains(got, "Nothing") {
		t.Errorf("with a pause of 1.5 s and a ttl of 1 s: %s", got)
	}
	set(b, "ttl", "3s")
	if got := outcome(b); !strings.Contains(got, "Nothing violated") {
		t.Errorf("with a ttl of 3 s: %s\n%s", got, yaml(b))
	}
	if got := yaml(b); !strings.Contains(got, "  ttl: 3s\n") || !strings.Contains(got, "# yaml-language-server") {
		t.Errorf("the text:\n%s", got)
	}
	// The slider does the same: its left end is the shortest ttl.
	tab.Eval[any](b, fmt.Sprintf(`(() => { const r = %s.parentElement.querySelector("[type=range]"); `+
		`r.value = 150; r.dispatchEvent(new Event("input")); return true; })()`, control("ttl")))
	if got := outcome(b); strings.Contains(got, "Nothing") {
		t.Errorf("with a short ttl again: %s\n%s", got, yaml(b))
	}
	b.Quiet(url[:7])
}

// A fault moves and is stretched in the picture, on its bar, and with keys; the text follows.
func TestDragAFault(t *testing.T) {
	b, url := open(t, "#scenario=gc-pause&seed=42")
	drag(b, ".bar", 0.5, 0.5, 60)
	moved := yaml(b)
	if !strings.Contains(moved, "at: ") || strings.Contains(moved, "point: before-write") {
		t.Errorf("the fault was moved by its bar:\n%s", moved)
	}
	drag(b, ".stage .band", 0.5, 0.05, -30)
	if got := yaml(b); got == moved || !strings.Contains(got, "at: ") {
		t.Errorf("the fault was moved in the picture:\n%s", got)
	}
	drag(b, ".bar .end", 0.5, 0.5, -80)
	if got := yaml(b); !strings.Contains(got, "for: ") || strings.Contains(got, "until:") {
		t.Errorf("the fault was stretched:\n%s", got)
	}
	before := yaml(b)
	b.Do(chromedp.Focus(chromedp.CSS(".bar")), chromedp.KeyEvent(kb.ArrowRight))
	if got := yaml(b); got == before {
		t.Errorf("a key does not move the fault:\n%s", got)
	}
	got := tab.Eval[string](b, `document.activeElement.className + " " + document.activeElement.getAttribute("aria-valuetext")`)
	if !strings.HasPrefix(got, "bar Fault 1 pause: begins at") {
		t.Errorf("after a key the focus is on %q", got)
	}
	b.Quiet(url[:7])
}

// A mistake in the text is named with its line and column; the picture stays.
func TestMistakeInTheText(t *testing.T) {
	b, url := open(t, "#scenario=gc-pause")
	b.Do(chromedp.Click(chromedp.CSS(`[data-pane=yaml]`)))
	tab.Eval[any](b, `(() => { const a = document.querySelector("textarea"); `+
		`a.value = a.value.replace("ttl: 1s", "ttl: 1x"); a.dispatchEvent(new Event("input")); return true; })()`)
	settled(b)
	got := tab.Eval[string](b, `document.querySelector(".problems").innerText`)
	if !strings.Contains(got, `line 21, column 8`) || !strings.Contains(got, `want a duration such as 50ms, 1.5s or 2m, got "1x"`) {
		t.Errorf("the problem: %s", got)
	}
	b.Do(chromedp.Click(chromedp.CSS(`.problems .place`)))
	if got := tab.Eval[string](b,
		`(() => { const a = document.activeElement; return a.value.slice(a.selectionStart, a.selectionEnd); })()`); got != "1x" {
		t.Errorf("the place is %q", got)
	}
	if n := tab.Eval[int](b, `document.querySelectorAll("svg.picture").length`); n != 1 {
		t.Errorf("%d pictures", n)
	}
	// What fits there is offered, and taken.
	tab.Eval[any](b, `(() => { const a = document.querySelector("textarea"), at = a.value.indexOf("algorithm: ") + 11; `+
		`a.value = a.value.replace("1x", "1s").replace("algorithm: redlock", "algorithm: red"); `+
		`a.setSelectionRange(at + 3, at + 3); a.dispatchEvent(new Event("input")); return true; })()`)
	settled(b) // the problem comes and moves what stands under it
	b.Do(chromedp.Click(chromedp.CSS(`.offered button`)))
	if got := yaml(b); !strings.Contains(got, "algorithm: redlock") {
		t.Errorf("the word was not completed:\n%s", got)
	}
	if got := tab.Eval[string](b, `document.querySelector(".problems").innerText`); got != "" {
		t.Errorf("mended, and still: %s", got)
	}
	b.Quiet(url[:7])
}

// The address is the experiment: opened again, it gives the same picture.
func TestAddress(t *testing.T) {
	b, url := open(t, "#scenario=gc-pause&seed=7&variant=fenced")
	set(b, "ttl", "700ms")
	picture := func() string {
		settled(b)
		return tab.Eval[string](b, `playground.answer.variant + document.querySelector(".stage svg.picture").outerHTML`)
	}
	before, address := picture(), tab.Eval[string](b, `location.href`)
	if !strings.HasPrefix(before, "fenced") || !strings.Contains(address, "yaml=") || !strings.Contains(address, "seed=7") {
		t.Fatalf("the address is %s", address)
	}
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	if after := picture(); after != before {
		t.Error("the address gives another picture")
	}
	// What sim writes is read as well.
	fragment, err := play.Fragment(strings.ReplaceAll(yaml(b), "name: gc-pause", "name: by-hand"), 3, "unfenced")
	if err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"#"+fragment))
	settled(b)
	if got := tab.Eval[string](b,
		`playground.answer.name + " " + playground.state.seed + " " + playground.state.variant`); got != "by-hand 3 unfenced" {
		t.Errorf("an address of sim shows %s", got)
	}
	for _, hostile := range []string{"#yaml=AAAA", "#yaml=%%%", "#scenario=../../x", "#yaml=" + strings.Repeat("A", 200_000)} {
		tab.Eval[any](b, fmt.Sprintf(`(() => { location.hash = %q; return true; })()`, hostile))
		tab.Eval[any](b, `new Promise((done) => { `+
			`const look = () => document.querySelector(".play").dataset.state === "failed" ? done(true) : setTimeout(look, 20); look(); })`)
		tab.Eval[any](b, `playground.load({ seed: "1" }).then(() => true)`)
		settled(b)
	}
	b.Do(chromedp.Navigate("about:blank"),
		chromedp.Navigate(url+"#scenario=x&seed=-1&view=9-1&variant=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"))
	settled(b)
	got := tab.Eval[string](b, `document.querySelector(".play-trouble").textContent + `+
		`playground.answer.name + document.querySelectorAll("img").length`)
	if got != "The address could not be read: there is no scenario xgc-pause0" {
		t.Errorf("an address with nothing in it: %s", got)
	}
	b.Quiet(url[:7])
}

// The same code gives the same histories in a browser and here, to the nanosecond.
func TestSameHistories(t *testing.T) {
	b, _ := open(t, "")
	offer, err := engine.Offer()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range offer.Scenarios {
		want, err := engine.Hashes(context.Background(), s.YAML, 7)
		if err != nil {
			t.Fatal(err)
		}
		got := tab.Eval[map[string]string](b,
			fmt.Sprintf(`playground.ask("hashes", { yaml: playground.offer.scenarios.find((s) => s.name === %q).yaml, seed: "7" })`, s.Name))
		for variant, sum := range want {
			if len(sum) != 64 || got[variant] != sum {
				t.Errorf("%s, %s: %s in the browser, %s here", s.Name, variant, got[variant], sum)
			}
		}
	}
}

// A search finds what breaks a scenario, and shows it; a measurement draws its map, and shows a run of a cell.
func TestSearchAndSweepInThePage(t *testing.T) {
	b, url := open(t, "#scenario=gc-pause&variant=fenced")
	press := func(label string) {
		t.Helper()
		tab.Eval[any](b, fmt.Sprintf(`[...document.querySelectorAll(".panel button")].find((x) => x.textContent === %q).click() ?? true`, label))
	}
	await := func(what string) {
		t.Helper()
		tab.Eval[any](b, `new Promise((done) => { const look = () => (`+what+`) ? done(true) : setTimeout(look, 50); look(); })`)
	}
	press("Find a schedule that breaks it")
	await(`document.querySelector(".found button")`)
	press("Show it")
	settled(b)
	if got := outcome(b); !strings.Contains(got, "violated") || strings.Contains(got, "Nothing") {
		t.Errorf("what was found: %s\n%s", got, yaml(b))
	}
	tab.Eval[any](b, `playground.load({ yaml: "name: x\nlock: {algorithm: redlock, ttl: 1s}\n`+
		`workload: {kind: increment, clients: 2}\nfaults:\n  - at: 10ms\n    pause: {client: c1, for: 2s}\n", variant: "" }).then(() => true)`)
	tab.Eval[any](b, `(() => { const [x, y] = document.querySelectorAll(".panel .asked input[type=text]"); `+
		`x.value = "lock.ttl=100ms,5s"; y.value = "faults.pause=50ms,2s"; return true; })()`)
	press("Measure how often")
	await(`document.querySelectorAll(".tile").length === 4`)
	await(`[...document.querySelectorAll(".panel button")].some((x) => x.textContent === "Measure how often")`)
	tab.Eval[any](b, `document.querySelectorAll(".tile")[1].click() ?? true`)
	if got := yaml(b); !strings.Contains(got, "ttl: 5s") || !strings.Contains(got, "for: 50ms") {
		t.Errorf("the settings of a cell:\n%s", got)
	}
	// A search can be stopped, and then shows what it has.
	tab.Eval[any](b, `(() => { document.querySelector(".panel select").value = 60; return true; })()`)
	press("Find a schedule that breaks it")
	await(`document.querySelector(".progress").textContent.startsWith("searching")`)
	press("Stop")
	await(`[...document.querySelectorAll(".panel button")].some((x) => x.textContent === "Find a schedule that breaks it")`)
	b.Quiet(url[:7])
}

// An engine of other sources than the page is refused.
func TestStaleEngine(t *testing.T) {
	made, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	other := *made
	other.Stamp = "0123456789abcdef"
	html, _, err := other.Page()
	if err != nil {
		t.Fatal(err)
	}
	b := tab.New(t)
	b.OpenFile(html)
	settled(b)
	if got := tab.Eval[string](b, `document.body.innerText`); !strings.Contains(got, "the engine was built from other sources") {
		t.Errorf("a stale engine:\n%s", got)
	}
}

// The page has what it promises, at all widths.
func TestReadable(t *testing.T) {
	b, _ := open(t, "#scenario=gc-pause")
	b.Readable("playground", func() { settled(b) })
	b.Print(chromedp.PaperA4)
}

// The point of no return is found when a button is pressed, and forgotten with the next change.
func TestPointOfNoReturn(t *testing.T) {
	b, _ := open(t, "#scenario=gc-pause&variant=unfenced&seed=7")
	const shown = `[Boolean(document.querySelector(".stage .odds-no-return")), document.querySelector(".explained").textContent].join(" ")`
	settled(b)
	if got := tab.Eval[string](b, shown); got != "false " {
		t.Errorf("before: %s", got)
	}
	press := func(name string) {
		tab.Eval[any](b, fmt.Sprintf(`[...document.querySelectorAll(".play button")].find((b) => b.textContent === %q).click()`, name))
		settled(b)
	}
	press("Point of no return")
	if got := tab.Eval[string](b, shown); !strings.HasPrefix(got, "true From 0.303 s on (the pause of c1 begins) it was certain") {
		t.Errorf("explained: %s", got)
	}
	b.Readable("playground, explained", func() { settled(b) })
	press("+") // the next seed
	if got := tab.Eval[string](b, shown); got != "false " {
		t.Errorf("of another run: %s", got)
	}
	press("Point of no return")
	press("Point of no return")
	if got := tab.Eval[string](b, shown); got != "false " {
		t.Errorf("after two presses: %s", got)
	}
}

func TestTextIsReadable(t *testing.T) {
	b, _ := open(t, "#scenario=gc-pause")
	b.Do(chromedp.Click(chromedp.CSS(`[data-pane=yaml]`)))
	b.Readable("playground, YAML", func() { settled(b) })
}

// The page is one file of less than 4.8 MB.
func TestSize(t *testing.T) {
	if n := len(page(t)); n > 4_800_000 {
		t.Errorf("the page has %d bytes", n)
	}
}

// A module beside which the engine lies: several playgrounds in one page of somebody else.
func TestModule(t *testing.T) {
	made, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	module, err := made.Module()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const twice = `<!doctype html><html lang="en"><meta charset="utf-8">
<link rel="icon" href="data:,"><link rel="stylesheet" href="play.css"><title>x</title>
<div id="a"></div><div id="b"></div><script type="module">
import { mount } from "./play.js";
window.a = mount(document.getElementById("a"), { wasm: "play.wasm.gz", scenario: "gc-pause", variant: "fenced" });
window.b = mount(document.getElementById("b"), { wasm: "play.wasm.gz", scenario: "clock-jump", seed: "3" });
</script>`
	files := map[string][]byte{
		"play.js": module, "play.wasm.gz": made.Wasm, "play.css": []byte(play.Stylesheet()), "index.html": []byte(twice),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := tab.New(t)
	address := served(t, dir)
	b.Do(chromedp.Navigate(address))
	got := tab.Eval[string](b, `(async () => {
		for (;;) { if (window.a && window.b) break; await new Promise((d) => setTimeout(d, 20)); }
		await a.ready; await b.ready; await a.idle(); await b.idle();
		return [a.answer.name, a.state.variant, b.answer.name, b.state.seed,
			document.querySelectorAll("svg.picture").length, location.hash].join(" "); })()`)
	if got != "gc-pause fenced clock-jump 3 2 " {
		t.Errorf("two playgrounds: %s", got)
	}
}
