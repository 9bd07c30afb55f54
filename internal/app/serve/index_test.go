package serve_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

// many stores n runs of a few scenarios.
func many(t testing.TB, n int) string {
	dir := filepath.Join(t.TempDir(), "reports")
	r := reporttest.GCPause()
	for i := range r.Variants {
		r.Variants[i].History = nil
	}
	for i := range n {
		r.Seed, r.Started, r.Title = uint64(i), "2026-11-20T20:45:01Z", fmt.Sprintf("Number %d", i)
		put(t, dir, fmt.Sprintf("scenario-%d", i%20), fmt.Sprintf("20261120-%06d-%d", i, i), r)
	}
	return dir
}

var rowLink = regexp.MustCompile(`<th scope="row"><a href="([^"]+)">`)

func TestPagesOfAList(t *testing.T) {
	dir := many(t, 250)
	h := handler(t, serve.Options{Dir: dir})
	for _, c := range []struct {
		query string
		rows  int
		want  []string
		not   string
	}{
		{"/", 100, []string{"250 runs", "1 to 100 of 250",
			`href="/?page=2">Older`, `href="/?page=3">3`, `aria-current="page">1<`, "Number 249<", "Number 150<"}, "Newer"},
		{"/?page=2", 100, []string{`href="/">Newer`, `href="/?page=3">Older`, "Number 149<"}, "Number 249<"},
		{"/?page=3", 50, []string{"201 to 250 of 250", "Number 0<"}, "Older"},
		{"/?page=99", 50, []string{"201 to 250 of 250"}, "Older"},
		{"/?page=-1", 100, []string{"1 to 100 of 250"}, "Newer"},
		{"/?page=x", 100, []string{"1 to 100 of 250"}, "Newer"},
		{"/?q=NUMBER+00017", 11, []string{"11 found", "Number 17<", "Number 170<"}, "Older"},
		{"/?q=Number&outcome=As+expected&page=2", 100, []string{`href="/?outcome=As&#43;expected&amp;page=3&amp;q=Number">3`,
			`action="/delete?outcome=As&#43;expected&amp;page=2&amp;q=Number"`}, "Number 249<"},
		{"/?q=scenario-7%22%3E", 0, []string{"No run matches"}, `7">`},
	} {
		code, body, _ := get(t, h, c.query)
		if n := len(rowLink.FindAllString(body, -1)); code != 200 || n != c.rows {
			t.Errorf("%s: %d, %d rows", c.query, code, n)
		}
		for _, w := range c.want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %q", c.query, w)
			}
		}
		if strings.Contains(body, c.not) {
			t.Errorf("%s: has %q", c.query, c.not)
		}
	}
}

// What changes in the folder shows in the next list.
func TestListFollowsTheFolder(t *testing.T) {
	dir := folder(t)
	h := handler(t, serve.Options{Dir: dir})
	const run = "20261120-204501-42"
	result := filepath.Join(dir, "gc-pause", run, "result.json")
	list := func() string { _, body, _ := get(t, h, "/"); return body }
	list()
	for _, c := range []struct {
		what   string
		change func()
		want   string
	}{
		{"a new run of an old scenario", func() { put(t, dir, "gc-pause", "20261122-000000-1", reporttest.Unexpected()) }, "6 runs"},
		{"a new scenario", func() { put(t, dir, "new", "20261122-000000-1", reporttest.GCPause()) }, "7 runs"},
		{"an empty folder is no run", func() { _ = os.MkdirAll(filepath.Join(dir, "new", "20261123-000000-1", "v"), 0o755) }, "7 runs"},
		{"a run that begins", func() {
			putHistory(t, filepath.Join(dir, "new", "20261123-000000-1", "v", "history.jsonl"), reporttest.Interrupted().Variants[0].History)
		}, "8 runs"},
		{"a result that is written anew", func() { write(t, result, []byte(`{"version": 99}`)) }, "result version 99"},
		{"a result that is replaced", func() {
			write(t, result+".new", []byte(`{"version": 98}`))
			if err := os.Rename(result+".new", result); err != nil {
				t.Fatal(err)
			}
		}, "result version 98"},
		{"a run that is deleted", func() { _ = os.RemoveAll(filepath.Join(dir, "new", "20261122-000000-1")) }, "7 runs"},
		{"a scenario that is deleted", func() { _ = os.RemoveAll(filepath.Join(dir, "gc-pause")) }, "5 runs"},
	} {
		c.change()
		if body := list(); !strings.Contains(body, c.want) {
			t.Errorf("%s: no %q in\n%s", c.what, c.want, body)
		}
	}
	// Time passes, and nothing is written any more: the runs in hand are none.
	late := handler(t, serve.Options{Dir: dir, Now: func() time.Time { return time.Now().Add(time.Hour) }})
	if _, body, _ := get(t, late, "/?outcome=Running"); !strings.Contains(body, "No run matches") {
		t.Errorf("a run that was killed is said to be running:\n%s", body)
	}
}

// Lists and changes at once: no list fails, and the last one is right.
func TestFolderThatChangesWhileItIsListed(t *testing.T) {
	dir := many(t, 60)
	h := handler(t, serve.Options{Dir: dir})
	result, err := os.ReadFile(filepath.Join(dir, "scenario-0", "20261120-000000-0", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 30 {
				at := filepath.Join(dir, fmt.Sprintf("scenario-%d", i%20), fmt.Sprintf("20261121-%06d-%d", i, worker))
				write(t, filepath.Join(at, "result.json"), result)
				if i%2 == 0 {
					if err := os.RemoveAll(at); err != nil {
						t.Error(err)
					}
				}
			}
		})
		all.Go(func() {
			for range 20 {
				if code, _, _ := get(t, h, "/"); code != 200 {
					t.Errorf("the list: %d", code)
				}
				// The test's results are not written at once, so one that is half written may show.
				code, body, _ := get(t, h, "/?outcome=Unreadable")
				if code != 200 || strings.Count(body, "</span> Unreadable<") != strings.Count(body, "unexpected end") {
					t.Errorf("unreadable: %d\n%s", code, body)
				}
			}
		})
	}
	all.Wait()
	if _, body, _ := get(t, h, "/?q=number"); !strings.Contains(body, "120 runs") || strings.Contains(body, "Unreadable") {
		t.Error("the last list is not what the folder has")
	}
}

// A result that cannot be read is in the list with the reason, and breaks no other page.
func TestBrokenResults(t *testing.T) {
	dir := folder(t)
	variants := func(names ...string) []byte {
		list := []map[string]string{}
		for _, name := range names {
			list = append(list, map[string]string{"name": name})
		}
		data, err := json.Marshal(map[string]any{"version": 1, "variants": list})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const run = "20261119-000000-1"
	broken := map[string]string{}
	for name, c := range map[string]struct {
		result []byte
		why    string
	}{
		"empty":       {nil, "unexpected end of JSON input"},
		"no-result":   {[]byte(`[]`), "not a result"},
		"no-version":  {[]byte(`{}`), "no version"},
		"of-tomorrow": {[]byte(`{"version": 7}`), "result version 7"},
		"wrong-type":  {[]byte(`{"version": 1, "variants": {"<b>": 1}}`), "not a result"},
		"twice":       {variants(strings.Fields(strings.Repeat("unfenced ", 20))...), "two variants have the name unfenced"},
		"crowded":     {variants(strings.Fields(strings.Repeat("v ", 100))...), "100 variants"},
		"huge":        {append(make([]byte, 17<<20), '{'), "too large"},
		"swollen":     {[]byte(`{"version": 1, "variants": [` + strings.Repeat("{},", 1<<20) + `{}]}`), "too large"},
	} {
		write(t, filepath.Join(dir, name, run, "result.json"), c.result)
		broken[name] = c.why
	}
	if err := os.MkdirAll(filepath.Join(dir, "a-folder", run, "result.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	broken["a-folder"] = "no regular file"
	if err := os.MkdirAll(filepath.Join(dir, "linked", run), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../gc-pause/20261120-204501-42/result.json", filepath.Join(dir, "linked", run, "result.json")); err != nil {
		t.Fatal(err)
	}
	broken["linked"] = "no regular file"
	h := handler(t, serve.Options{Dir: dir})
	_, list, _ := get(t, h, "/")
	if !strings.Contains(list, ">gc-pause<") || strings.Contains(list, "<b>") {
		t.Error("the list lacks a run that can be read, or markup of one got out")
	}
	for name, why := range broken {
		_, row, _ := get(t, h, "/?q="+name)
		if !strings.Contains(row, "Unreadable") || !strings.Contains(row, why) {
			t.Errorf("%s: no %q in the list\n%s", name, why, row)
		}
		for _, target := range []string{
			"/run/" + name + "/" + run + "/",
			"/compare?a=gc-pause/20261120-204501-42&b=" + url.QueryEscape(name+"/"+run),
			"/compare/pictures?b=gc-pause/20261120-204501-42&a=" + url.QueryEscape(name+"/"+run),
		} {
			code, body, _ := get(t, h, target)
			if code != 422 || !strings.Contains(body, name+"/"+run+" cannot be read") ||
				!strings.Contains(body, why) || strings.Contains(body, dir) {
				t.Errorf("%s: %d\n%s", target, code, body)
			}
		}
	}
	if _, body, _ := get(t, h, "/run/of-tomorrow/"+run+"/"); !strings.Contains(body, `href="/run/of-tomorrow/`+run+`/file/result.json"`) {
		t.Error("the page does not lead to the file")
	}
}

// A page of a list of 10,000 runs.
func BenchmarkList(b *testing.B) {
	dir := many(b, 10_000)
	all := func(h *serve.Handler) {
		for done := false; !done; {
			_, body, _ := get(b, h, "/")
			done = !strings.Contains(body, "still being read")
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			all(handler(b, serve.Options{Dir: dir}))
		}
	})
	h := handler(b, serve.Options{Dir: dir})
	all(h)
	all(h) // what had just been written when it was read
	for _, target := range []string{"/", "/?page=57", "/?q=number+99", "/?q=nothing-like-it"} {
		b.Run(target, func(b *testing.B) {
			for b.Loop() {
				if code, body, _ := get(b, h, target); code != 200 || !strings.Contains(body, "10,000 runs") {
					b.Fatal(code)
				}
			}
		})
	}
}
