package trial_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// The picture of every scenario can be read: no label covers another at any width and zoom, and every
// text stands out from its ground, by day and by night. With PAGES set to a folder, the pages are left there.
func TestPictureOfEveryScenario(t *testing.T) {
	for i, group := range slices.Collect(slices.Chunk(scenariotest.Shipped(t), 3)) { // one browser may take three minutes
		t.Run(group[0].Name, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				suite.All(t)
			}
			b := tab.New(t)
			for _, s := range group {
				readable(t, b, s)
			}
		})
	}
}

func readable(t *testing.T, b *tab.Tab, s *scenario.Scenario) {
	t.Helper()
	name := s.Name
	got, err := trial.Run(context.Background(), s, options(t))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := report.WriteHTML(&page, got.Result); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("PAGES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page.Len() > 600_000 {
		t.Errorf("%s: the page has %d bytes", name, page.Len())
	}
	b.Size(1400, 900)
	b.Dark(false)
	b.OpenFile(page.Bytes())
	if tab.Eval[int](b, `document.querySelectorAll("svg.picture").length`) == 0 {
		return
	}
	for _, c := range []struct {
		width int64
		press []string
	}{{390, []string{"focus", "in"}}, {800, []string{"all"}}, {1400, []string{"focus", "in", "in", "all"}}} {
		width := c.width
		b.Size(width, 900)
		for _, press := range c.press {
			tab.Eval[any](b, fmt.Sprintf(`document.querySelector("[data-do=%s]").click()`, press))
			b.Drawn()
			for _, c := range b.Covered() {
				t.Errorf("%s at %d px, after %q: %s", name, width, press, c)
			}
		}
		if got := tab.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("%s at %d px is %d px wide", name, width, got)
		}
	}
	for _, f := range b.Faint("#stage", 4.5) {
		t.Errorf("%s: %s", name, f)
	}
}

// longMix is a minute of five clients under a random mix.
const longMix = `name: long-mix
lock: {algorithm: redlock, ttl: 600ms, node_timeout: 30ms, fan_out: at-once, retry: {attempts: 4000}}
workload: {kind: increment, clients: 5, sections: 200, start: together, think: 20ms, rest: 20ms}
time_limit: 90s
faults:
  mix:
    during: 60s
    every: exp(mean=150ms)
    kinds:
      pause: {for: exp(mean=250ms), weight: 2}
      cut: {for: exp(mean=200ms)}
      latency: {for: exp(mean=300ms), by: exp(mean=30ms)}
      hold: {for: exp(mean=150ms)}
expect: {exclusive-lease: holds}
`

// The page of a long run has the whole of it: it can be looked at as a whole, moved through, searched, and each
// moment, event and lane has an address.
func TestPageOfALongRun(t *testing.T) {
	suite.All(t)
	r := run(t, longMix, options(t)).Result
	events := r.Variants[0].History.Events
	var page bytes.Buffer
	if err := report.WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 600_000 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	b := tab.New(t)
	b.Size(1400, 900)
	address := b.OpenFile(page.Bytes())
	tab.Eval[any](b, `new Promise(done => { `+
		`const look = () => document.documentElement.classList.contains("complete") ? done() : setTimeout(look, 5); look(); })`)
	p := &longPage{t, b, events, address}
	p.showsAll()
	p.stepsFromMomentToMoment()
	p.dragsItsWindow()
	id := p.findsAnEvent()
	p.showsWhatAnAddressAsksFor(id)
	p.opensAtAMoment()
	p.keepsTheMomentWhileZooming()
	if got := b.Troubles(); len(got) > 0 {
		t.Errorf("the browser says %q", got)
	}
}

// longPage is the page of a long run in a browser.
type longPage struct {
	*testing.T
	b       *tab.Tab
	events  []history.Event
	address string
}

func (p *longPage) hash() string { return tab.Eval[string](p.b, `location.hash`) }

func (p *longPage) readout() string {
	return tab.Eval[string](p.b, `document.querySelector(".readout").textContent`)
}

func (p *longPage) do(expression string) {
	tab.Eval[any](p.b, expression)
	p.b.Drawn()
}

// open opens the page anew at an address.
func (p *longPage) open(at string) {
	p.b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.address+at))
	p.b.Drawn()
}

func (p *longPage) showsAll() {
	p.do(`document.querySelector("[data-do=all]").click()`)
	for _, lane := range []string{"c1", "c5", "A", "E"} {
		ends := tab.Eval[[]float64](p.b, `(() => {
			const at = [...document.querySelectorAll(".lane-names")].indexOf(document.getElementById("v1-lane-`+lane+`"));
			const xs = [...document.querySelectorAll(".lane")[at].querySelectorAll(".t")].map(el => parseFloat(el.getAttribute("x")));
			return [Math.min(...xs), Math.max(...xs)];
		})()`)
		if ends[0] > 8 || ends[1] < 92 {
			p.Errorf("%s: what is drawn goes from %v to %v %% of the width", lane, ends[0], ends[1])
		}
	}
	if c := p.b.Covered(); len(c) > 0 {
		p.Errorf("labels cover one another: %q", c)
	}
}

func (p *longPage) stepsFromMomentToMoment() {
	p.do(`document.querySelector("[data-do=next]").click()`)
	first := p.hash()
	p.do(`document.querySelector("[data-do=next]").click()`)
	if second := p.hash(); !strings.HasPrefix(first, "#v1-t0.") || second == first || !strings.HasPrefix(second, "#v1-t") {
		p.Errorf("the next moments have the addresses %q and %q", first, second)
	}
}

// dragsItsWindow drags the window in the strip to the middle of the run, and makes it narrower with its edge.
func (p *longPage) dragsItsWindow() {
	p.do(`document.querySelector("[data-do=focus]").click()`)
	drag := func(from, to string) {
		p.do(fmt.Sprintf(`(() => {
			const strip = document.querySelector(".strip");
			const box = strip.getBoundingClientRect(), here = strip.querySelector(".here").getBoundingClientRect();
			const mid = here.left + here.width / 2;
			const send = (type, x) => strip.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: box.top + 5, pointerId: 1, bubbles: true }));
			strip.setPointerCapture = () => {};
			send("pointerdown", %s); send("pointermove", %s); send("pointerup", %s);
		})()`, from, to, to))
	}
	drag("mid", "box.left + box.width / 2")
	middle := p.hash()
	var from, to float64
	if _, err := fmt.Sscanf(middle[strings.Index(middle, ",")+1:], "%f-%f", &from, &to); err != nil {
		p.Fatalf("the address %q has no window: %v", middle, err)
	}
	end := p.events[len(p.events)-1].Time.Seconds()
	if mid := (from + to) / 2; mid < end*0.45 || mid > end*0.55 {
		p.Errorf("the window goes from %v to %v s of %v", from, to, end)
	}
	drag("here.right", "here.left + here.width / 2")
	var narrow float64
	if _, err := fmt.Sscanf(p.hash()[strings.Index(p.hash(), ",")+1:], "%f-%f", &from, &narrow); err != nil || narrow > to-(to-from)/3 {
		p.Errorf("the window's edge was dragged from %v to %v", to, narrow)
	}

	drag("here.right", "box.left") // one edge over the other
	if _, err := fmt.Sscanf(p.hash()[strings.Index(p.hash(), ",")+1:], "%f-%f", &from, &narrow); err != nil || narrow-from < end/1000 {
		p.Errorf("the window's edge was dragged over the other, and it goes from %v to %v", from, narrow)
	}
}

// findsAnEvent finds one that has no row at first by its value, and by its address.
func (p *longPage) findsAnEvent() (id string) {
	var wanted int
	for i := len(p.events) / 2; wanted == 0; i++ {
		if e := &p.events[i]; e.F == history.Write && e.Type == history.OK {
			wanted = i
		}
	}
	e := &p.events[wanted]
	id = fmt.Sprintf("v1-e%d", wanted)
	if tab.Eval[bool](p.b, `document.getElementById("`+id+`") !== null`) {
		p.Errorf("event %d has a row from the beginning", wanted)
	}
	p.do(fmt.Sprintf(`new Promise(done => {
		const filter = document.getElementById("filter");
		filter.value = "%s write ok section %d";
		filter.dispatchEvent(new Event("input"));
		const look = () => document.getElementById("matches").textContent ? done() : setTimeout(look, 5);
		look();
	})`, e.Process, e.Value.Section))
	if !tab.Eval[bool](p.b, `document.getElementById("`+id+`") !== null && !document.getElementById("`+id+`").hidden`) {
		p.Errorf("event %d was not found: %s", wanted, tab.Eval[string](p.b, `document.getElementById("matches").textContent`))
	}
	p.b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.address+"#"+id))
	tab.Eval[any](p.b, `new Promise(done => { const look = () => document.getElementById("`+id+`") ? done() : setTimeout(look, 5); look(); })`)
	p.b.Drawn()
	if got, want := p.readout(), fmt.Sprintf("%.3f s", e.Time.Seconds()); !strings.HasPrefix(got, want) {
		p.Errorf("the picture shows %q for an event at %s", got, want)
	}
	if tab.Eval[string](p.b, `document.querySelector("tr:target").id`) != id {
		p.Error("the row is not the target of its address")
	}
	return id
}

// showsWhatAnAddressAsksFor: a filter hides no such row.
func (p *longPage) showsWhatAnAddressAsksFor(id string) {
	p.do(fmt.Sprintf(`new Promise(done => {
		const filter = document.getElementById("filter"), row = document.getElementById(%q);
		const wait = (until, then) => until() ? then() : setTimeout(() => wait(until, then), 5);
		location.hash = "";
		filter.value = "no row has this";
		filter.dispatchEvent(new Event("input"));
		wait(() => row.hidden, () => {
			location.hash = %q;
			wait(() => !filter.value && !row.hidden && row.matches(":target"), done);
		});
	})`, id, id))
}

func (p *longPage) opensAtAMoment() {
	p.open("#v1-t20.5,20-21")
	if got := p.readout(); !strings.HasPrefix(got, "20.500 s") {
		p.Errorf("the picture shows %q for the address of 20.5 s", got)
	}
	for _, nonsense := range []string{"#v1-t0.3,1..2-3", "#v1-t.", "#v1-t5,9-1", "#v1-t9999999", "#v9-t1", "#v1-tNaN", "#v1-e999999999"} {
		p.open(nonsense)
		if got := p.readout(); strings.Contains(got, "NaN") || strings.Contains(got, "9999") {
			p.Errorf("the address %s shows %q", nonsense, got)
		}
	}
}

// keepsTheMomentWhileZooming: where the mouse is does not count for the address, for it goes to a button, after all.
func (p *longPage) keepsTheMomentWhileZooming() {
	p.open("#v1-t20.5,20-21")
	p.do(`document.querySelector("svg.picture").dispatchEvent(new PointerEvent("pointermove", ` +
		`{ clientX: 700, clientY: 500, pointerId: 3, pointerType: "mouse", bubbles: true }))`)
	p.do(`document.querySelector("[data-do=in]").click()`)
	if got := p.hash(); !strings.HasPrefix(got, "#v1-t20.5,20.25-20.75") {
		p.Errorf("after zooming in the address is %q", got)
	}
	tab.Eval[any](p.b, `document.querySelector("#v1-lane-c3 a").dispatchEvent(new MouseEvent("click", { bubbles: true }))`)
	p.b.Drawn()
	if got := tab.Eval[string](p.b, `document.querySelector(".lane-names:target").id`); got != "v1-lane-c3" {
		p.Errorf("the target is %q, not the lane", got)
	}
}
