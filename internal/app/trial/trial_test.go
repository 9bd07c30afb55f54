package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// stalls is a client that writes after its lease, with and without a fence.
const stalls = `name: stalls
lock: {algorithm: redlock, ttl: 1s}
workload: {clients: 2, think: 300ms}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
variants:
  unfenced: {fencing: {tokens: none}}
  fenced: {fencing: {tokens: quorum-counter}}
expect:
  unfenced: {no-late-effect: violated, linearizable-resource: violated}
  fenced: {linearizable-resource: holds}
`

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("stalls.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// options are those of a trial in virtual time, always at the same second.
func options(t *testing.T) trial.Options {
	return trial.Options{Seed: 3, World: request.Virtual, Out: t.TempDir(), Program: map[string]string{"sim": "test"},
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
}

func run(t *testing.T, text string, o trial.Options) *trial.Trial {
	t.Helper()
	got, err := trial.Run(context.Background(), parse(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// verdicts tells a result in short: "unfenced linearizable-resource violated met".
func verdicts(r *report.Result) (list []string) {
	for _, v := range r.Variants {
		for _, p := range v.Properties {
			words := []string{v.Name, string(p.Name), p.Verdict.String()}
			if p.Expected != 0 {
				words = append(words, map[bool]string{true: "met", false: "not met"}[p.Met])
			}
			list = append(list, strings.Join(words, " "))
		}
	}
	return list
}

func TestTrialIsKeptAndJudgedAgain(t *testing.T) {
	o := options(t)
	got := run(t, stalls, o)
	if r := got.Result; !r.Met || r.Undecided || r.Interrupted ||
		r.Versions["sim"] != "test" || r.Replay != "sim run stalls.yaml --seed 3 --world virtual" {
		t.Errorf("met %v, undecided %v, interrupted %v, versions %v, replay %q", r.Met, r.Undecided, r.Interrupted, r.Versions, r.Replay)
	}
	told := verdicts(got.Result)
	for _, want := range []string{"unfenced linearizable-resource violated met",
		"fenced linearizable-resource holds met", "unfenced exclusive-lease holds met"} {
		if !slices.Contains(told, want) {
			t.Errorf("%q is missing in %q", want, told)
		}
	}
	for _, v := range got.Result.Variants {
		if len(v.Faults) != 1 || v.Faults[0].Fired != 1 || v.Faults[0].Took < 2*time.Second {
			t.Errorf("%s: faults %+v", v.Name, v.Faults)
		}
	}
	latest, err := filepath.EvalSymlinks(filepath.Join(o.Out, "latest"))
	if want, _ := filepath.EvalSymlinks(got.Dir); err != nil || latest != want {
		t.Errorf("latest is %q, %v, want %q", latest, err, want)
	}

	loaded, err := trial.Load(got.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.ScenarioText != stalls || !slices.Equal(verdicts(loaded), told) || len(loaded.Variants[0].History.Events) == 0 {
		t.Errorf("loaded %q with %d events", verdicts(loaded), len(loaded.Variants[0].History.Events))
	}
	again, err := trial.Rejudge(context.Background(), got.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Result.Met || !slices.Equal(verdicts(again.Result), told) {
		t.Errorf("judged again: %q, want %q", verdicts(again.Result), told)
	}
}

// A suite's page can be searched for what a scenario is about, also when the run was stored.
func TestResultSaysWhatTheScenarioIsAbout(t *testing.T) {
	for head, want := range map[string]string{
		"guarantee: paused-holder\ntags: [kleppmann, library]\n": "paused-holder [kleppmann library]",
		"guarantee: none\n": " []",
		"":                  " []",
	} {
		got := run(t, head+stalls, options(t))
		stored, err := trial.Load(got.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*report.Result{got.Result, stored} {
			if about := fmt.Sprint(r.Guarantee, " ", r.Tags); about != want {
				t.Errorf("%q: the result is about %q, want %q", head, about, want)
			}
		}
	}
}

func TestRunsOfOneSecondHaveFoldersOfTheirOwn(t *testing.T) {
	o := options(t)
	first, second := run(t, stalls, o), run(t, stalls, o)
	if first.Dir == second.Dir {
		t.Errorf("both are in %q", first.Dir)
	}
	if found, _, err := trial.Results(o.Out); err != nil || len(found) != 2 {
		t.Errorf("%d results, %v", len(found), err)
	}
}

func TestWhatWasNotExpectedIsNotMet(t *testing.T) {
	got := run(t, strings.Replace(stalls, "{linearizable-resource: holds}", "{linearizable-resource: violated}", 1), options(t)).Result
	if got.Met || got.Undecided || !got.Variants[0].Met || got.Variants[1].Met {
		t.Errorf("met %v, undecided %v, %q", got.Met, got.Undecided, verdicts(got))
	}
}

// A run in which nothing contends cannot be judged.
func TestUndecidedIsNeitherMetNorViolated(t *testing.T) {
	alone := "name: alone\nlock: {algorithm: redlock}\nworkload: {clients: 1}\nexpect: {exclusive-lease: holds}\n"
	got := run(t, alone, options(t)).Result
	if got.Met || !got.Undecided || !slices.Contains(verdicts(got), "default exclusive-lease unknown not met") {
		t.Errorf("met %v, undecided %v, %q", got.Met, got.Undecided, verdicts(got))
	}
}

func TestInterruptedTrialIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := trial.Run(ctx, parse(t, stalls), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Result.Interrupted || got.Result.Met {
		t.Errorf("interrupted %v, met %v", got.Result.Interrupted, got.Result.Met)
	}
	for _, v := range got.Result.Variants {
		for _, p := range v.Properties {
			if p.Verdict == checker.Holds {
				t.Errorf("%s: %s holds of a run that did not happen", v.Name, p.Name)
			}
		}
	}
	if r, err := trial.Load(got.Dir); err != nil || !r.Interrupted {
		t.Errorf("the folder says %v, %v", r, err)
	}
}

// What a run has recorded when it is killed can be judged, at whatever moment that is. Nothing
// holds of it that the run did not come to the end of, and what is violated is so.
func TestKilledTrialIsJudgedAfterwards(t *testing.T) {
	for name, text := range map[string]string{"one try": stalls, "tries": chance} {
		o := options(t)
		if o.Tries = 3; name == "tries" {
			o.Seed = tryUntil(t, chance, func(v *report.Variant) bool { return v.Shown == 2 }).Result.Seed
		}
		var mu sync.Mutex
		var killed []string
		o.Progress = func(string, string) {
			mu.Lock()
			defer mu.Unlock()
			left, err := filepath.Glob(filepath.Join(o.Out, "*", "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("runs %q (%v)", left, err)
				return
			}
			dir := filepath.Join(t.TempDir(), "killed")
			// The other variant goes on writing, and tries are moved.
			if err := os.CopyFS(dir, os.DirFS(left[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			killed = append(killed, dir)
		}
		whole := run(t, text, o)
		if len(killed) < 6 {
			t.Fatalf("%s: %d moments", name, len(killed))
		}
		tries := 0
		for _, dir := range killed {
			got, err := trial.Rejudge(context.Background(), dir)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			r := got.Result
			if !r.Interrupted || r.Seed != whole.Result.Seed || len(r.Variants) != len(whole.Result.Variants) {
				t.Errorf("%s: interrupted %v, seed %d, %d variants", name, r.Interrupted, r.Seed, len(r.Variants))
			}
			for i, v := range r.Variants {
				tries = max(tries, len(v.Tries))
				for _, p := range v.Properties {
					if end := property(t, &whole.Result.Variants[i], p.Name).Verdict; p.Verdict == checker.Violated && end != checker.Violated {
						t.Errorf("%s, %s: %s is %v of the run that was killed, and %v of the whole", name, v.Name, p.Name, p.Verdict, end)
					}
				}
			}
			if err := got.Keep(); err != nil {
				t.Error(err)
			}
			if again, err := trial.Load(dir); err != nil || !again.Interrupted || len(again.Variants) != len(r.Variants) {
				t.Errorf("%s: the folder says %v, %v", name, again, err)
			}
		}
		if name == "tries" && tries < 2 {
			t.Errorf("no moment had a second try")
		}
	}
}

// A file that cannot be written whole leaves what was there, and nothing beside it.
func TestWriteFileIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "file")
	full := errors.New("no space left")
	put := func(text string, end error) error {
		return machine.WriteFile(path, func(w io.Writer) error { return errors.Join(second(io.WriteString(w, text)), end) })
	}
	if err := errors.Join(put("one", nil), put("two", nil)); err != nil {
		t.Fatal(err)
	}
	if err := put("three", full); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	text, err := os.ReadFile(path)
	entries, _ := os.ReadDir(filepath.Dir(path))
	if err != nil || string(text) != "two" || len(entries) != 1 {
		t.Errorf("the file has %q, beside it are %v (%v)", text, entries, err)
	}
}

func second(_ int, err error) error { return err }

// The time that a run takes is bounded in both worlds, and what it shows until then is judged.
func TestTimeout(t *testing.T) {
	o := options(t)
	o.Timeout = 50 * time.Millisecond
	endless := "name: endless\nlock: {algorithm: redlock}\nworkload: {clients: 3, sections: 100000}\ntime_limit: 1h\n"
	v := run(t, endless, o).Result.Variants[0]
	if !v.TimedOut || v.StoppedAfter != "50ms" || v.Interrupted || v.Error != "" || v.Met {
		t.Errorf("timed out %v after %q, interrupted %v, error %q, met %v", v.TimedOut, v.StoppedAfter, v.Interrupted, v.Error, v.Met)
	}
	for _, p := range v.Properties {
		if p.Verdict == checker.Holds {
			t.Errorf("%s holds of a run that was stopped", p.Name)
		}
	}
}

// What the folder expects is what counts when a run is judged again; nothing in it
// changes.
func TestRejudgeReadsTheFolder(t *testing.T) {
	dir := run(t, stalls, options(t)).Dir
	file := filepath.Join(dir, "scenario.yaml")
	edited := strings.Replace(stalls, "{linearizable-resource: holds}", "{linearizable-resource: violated}", 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := trial.Rejudge(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Result.Met {
		t.Errorf("met: %q", verdicts(again.Result))
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "result.json")); string(after) != string(before) {
		t.Error("the result in the folder has changed")
	}
}

func TestFoldersThatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"no result":   func(dir string) error { return os.Remove(filepath.Join(dir, "result.json")) },
		"no scenario": func(dir string) error { return os.Remove(filepath.Join(dir, "scenario.yaml")) },
		"a broken history": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "fenced", "history.jsonl"), []byte("no history\n"), 0o600)
		},
		"a broken scenario": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte("name: ["), 0o600)
		},
		"a variant outside the folder": func(dir string) error {
			file := filepath.Join(dir, "result.json")
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), `"name": "fenced"`, `"name": "../fenced"`)), 0o600)
		},
	} {
		dir := run(t, stalls, options(t)).Dir
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := trial.Rejudge(context.Background(), dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestResultsOfFilesAndFolders(t *testing.T) {
	o := options(t)
	got := run(t, stalls, o)
	one, err := os.ReadFile(filepath.Join(got.Dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		path string
		want int // 0: an error
	}{
		"a run's folder":   {got.Dir, 1},
		"a link to it":     {filepath.Join(o.Out, "latest"), 1},
		"a folder of runs": {o.Out, 1},
		"a result":         {filepath.Join(got.Dir, "result.json"), 1},
		"two in one file":  {file("both.json", string(one)+"\n"+string(one)), 2},
		"an empty file":    {file("empty.json", ""), 0},
		"no JSON":          {file("words.json", "words"), 0},
		"other JSON":       {file("other.json", `{"cow": 1}`), 0},
		"an empty folder":  {t.TempDir(), 0},
		"nothing":          {filepath.Join(o.Out, "nothing"), 0},
	} {
		list, _, err := trial.Results(test.path)
		if len(list) != test.want && err == nil || (err == nil) != (test.want > 0) {
			t.Errorf("%s: %d results, error %v", name, len(list), err)
		}
	}
	broken := filepath.Join(o.Out, "stalls", "broken", "result.json")
	if err := machine.WriteFile(broken, func(w io.Writer) error { _, err := io.WriteString(w, "{"); return err }); err != nil {
		t.Fatal(err)
	}
	if list, unreadable, err := trial.Results(o.Out); err != nil ||
		len(list) != 1 || len(unreadable) != 1 || !strings.Contains(unreadable[0].Error(), broken) {
		t.Errorf("with a broken result beside it: %d results, unreadable %v (%v)", len(list), unreadable, err)
	}
	var document map[string]any
	if err := json.Unmarshal(one, &document); err != nil {
		t.Errorf("result.json is no JSON document: %v", err)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	o := options(t)
	o.Out = filepath.Join(o.Out, "file")
	if err := os.WriteFile(o.Out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := trial.Run(context.Background(), parse(t, stalls), o)
	var lacks *trial.EnvironmentError
	if !errors.As(err, &lacks) || !strings.Contains(lacks.Hint, "--out") {
		t.Errorf("error %v", err)
	}
}
