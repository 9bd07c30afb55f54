package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// script is a lock program in sh: read takes a line, and what it prints goes to us.
func script(t *testing.T, text string) (*Program, *bytes.Buffer, error) {
	t.Helper()
	var log bytes.Buffer
	p, err := Start(context.Background(), Options{Command: []string{"sh", "-c", text}, Log: NewLog(&log)})
	if p != nil {
		t.Cleanup(func() { p.Close() })
	}
	return p, &log, err
}

const ready = `read line; echo '{"type":"ready","protocol":1,"name":"sh","class":"single","points":["here"]}'; `

func TestConversation(t *testing.T) {
	p, log, err := script(t, `echo 'a library prints'; echo '{"no":"type"}'; `+ready+`
		read line; echo "$line" >&2; echo '{"type":"set-up"}'
		read line; echo '{"type":"acquired","id":1,"at_ns":1,"validity_ms":1500.5,"owner_b64":"AAE=","token":7}'
		read line; echo '{"type":"refused","id":2,"why":"taken"}'
		read line; echo '{"type":"released","id":3}'
		read line`)
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready.Name != "sh" || p.Ready.Class != Single {
		t.Errorf("%+v", p.Ready)
	}
	ctx := context.Background()
	if err := p.Setup(ctx, Setup{Client: "c1", Lock: Lock{Key: "lock", TTLMS: TTLMS(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	a, err := p.Acquire(ctx, 3*time.Second)
	if err != nil || a.Type != Acquired || a.Validity != 1500500*time.Microsecond || string(a.Owner) != "\x00\x01" || *a.Token != 7 {
		t.Errorf("%+v, %v", a, err)
	}
	if a.From < time.Duration(2) || a.From == 1 {
		t.Errorf("the validity counts from %v, which was before the request", a.From)
	}
	if a, err := p.Acquire(ctx, 0); err != nil || a.Type != Refused || a.Why != "taken" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := p.Release(ctx, 1); err != nil || a.Type != Released {
		t.Errorf("%+v, %v", a, err)
	}
	if !p.Close() {
		t.Error("it did not end when its input did")
	}
	text := log.String()
	for _, want := range []string{"a library prints", `{"no":"type"}`, `"client":"c1"`, `"nodes":[]`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q: %q", want, text)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"ends at once":      {`echo broken >&2; exit 3`, "ended: exit status 3; the last that it printed:\n  broken"},
		"closes its output": {`exec 1>&-; exec sleep 100`, "ended: it closed its output"},
		"another version": {`read l; echo '{"type":"ready","protocol":2,"name":"x","class":"single"}'; cat`,
			"version 2 of the protocol: want 1"},
		"a semaphore":          {`read l; echo '{"type":"ready","protocol":1,"name":"x","class":"semaphore"}'; cat`, "A semaphore has one of"},
		"an unknown ability":   {`read l; echo '{"type":"ready","protocol":1,"name":"x","class":"single","can":["fly"]}'; cat`, `it can "fly"`},
		"no name":              {`read l; echo '{"type":"ready","protocol":1,"class":"single"}'; cat`, "want a name"},
		"bad fields":           {`read l; echo '{"type":"ready","protocol":"one"}'; cat`, `"ready" cannot be read`},
		"an unknown type":      {`read l; echo '{"type":"hi"}'; cat`, `unknown type "hi"`},
		"an error":             {`read l; echo '{"type":"error","why":"no redis module"}'; cat`, "the lock program says: no redis module"},
		"another answer":       {`read l; echo '{"type":"set-up"}'; cat`, `answered "set-up" to "hello"`},
		"an answer to nothing": {ready + `echo '{"type":"released","id":9}'; read l; cat`, `"released" with the id 9, which no open request has`},
		"a missing id": {ready + `read l; echo '{"type":"set-up"}'; read l; echo '{"type":"acquired"}'; cat`,
			`"acquired" without the id`},
		"an endless line":  {`head -c 2000000 /dev/zero | tr '\0' x; cat`, "a line of more than 1048576 bytes"},
		"an unnamed point": {ready + `echo '{"type":"point","id":1,"name":"there"}'; read l; cat`, `the point "there"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, err := script(t, test.text)
			if err == nil {
				err = p.Setup(context.Background(), Setup{})
			}
			if err == nil {
				_, err = p.Acquire(context.Background(), 0)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestEndlessOutputIsBounded(t *testing.T) {
	var log bytes.Buffer
	p, err := Start(context.Background(),
		Options{Command: []string{"sh", "-c", ready + `yes $(head -c 1000 /dev/zero | tr '\0' x) | head -n 30000; echo done; read l; cat`},
			Log: NewLog(&log)})
	if err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the end of its output", func() bool { return strings.Contains(strings.Join(p.Log.Last(), " "), "done") })
	p.Kill()
	if log.Len() > maxLog+1000 || !strings.Contains(log.String(), "the log is full") {
		t.Errorf("%d bytes in the log", log.Len())
	}
}

// What a program starts ends with it, though it began a session of its own.
func TestNothingIsLeft(t *testing.T) {
	file := t.TempDir() + "/pid"
	p, _, err := script(t, `setsid sh -c 'echo $$ > '`+file+
		`'; exec sleep 1000' & while [ ! -s `+file+` ]; do sleep 0.01; done; `+ready+`trap '' TERM; while :; do sleep 0.1; done`)
	if err != nil {
		t.Fatal(err)
	}
	if p.Close() {
		t.Error("it ended by itself")
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", strings.TrimSpace(string(pid)))); err == nil &&
		!strings.Contains(string(text), ") Z") {
		t.Errorf("process %s is left: %s", pid, text)
	}
}

// A process that outlives the program, and holds its output open, hides no end.
func TestTheEndIsTheProgramsOwn(t *testing.T) {
	if err := machine.Adopt(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machine.KillOrphans)
	p, _, err := script(t, `setsid sleep 1000 & `+ready+`read l; echo '{"type":"set-up"}'; read l; exit 4`)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Setup(context.Background(), Setup{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	if _, err := p.Acquire(ctx, 0); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Error(err)
	}
	p.Close()
}

func TestTheEndIsTold(t *testing.T) {
	p, _, err := script(t, ready+`read l; echo '{"type":"set-up"}'; read l; echo last words; exit 4`)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Setup(context.Background(), Setup{}); err != nil {
		t.Fatal(err)
	}
	_, err = p.Acquire(context.Background(), 0)
	var ended *Ended
	if !errors.As(err, &ended) || ended.How != "exit status 4" || strings.Join(ended.Last, "") != "last words" {
		t.Errorf("%v", err)
	}
	if _, err := p.Acquire(context.Background(), 0); err == nil {
		t.Error("it answers after its end")
	}
}

type told struct{ said []string }

func (e *told) Renewed(_ string, grant uint64, until time.Duration) {
	e.said = append(e.said, fmt.Sprintf("renewed %d", grant))
}

func (e *told) Lost(_ string, grant uint64, last, at time.Duration, why string) {
	e.said = append(e.said, fmt.Sprintf("lost %d %v %s", grant, last == at, why))
}

func (e *told) AtPoint(_, name string, done func()) {
	e.said = append(e.said, name)
	done()
}

func TestEvents(t *testing.T) {
	e := &told{}
	p, err := Start(context.Background(), Options{Events: e, Command: []string{"sh", "-c", ready + `read l; echo '{"type":"set-up"}'
		read l; echo '{"type":"point","id":5,"name":"here"}'; read go; case "$go" in *'"go","id":5'*) ;; *) exit 1;; esac
		echo '{"type":"acquired","id":1}'; echo '{"type":"renewed","grant":1,"validity_ms":1000}'; echo '{"type":"lost","grant":1,"why":"gone"}'
		echo '{"type":"lost","grant":1}'; echo '{"type":"renewed","grant":77}'; read l; echo '{"type":"refused","id":2}'; cat`}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx := context.Background()
	if err := p.Setup(ctx, Setup{}); err != nil {
		t.Fatal(err)
	}
	if a, err := p.Acquire(ctx, 0); err != nil || a.Type != Acquired {
		t.Fatal(a, err)
	}
	if a, err := p.Acquire(ctx, 0); err != nil || a.Type != Refused { // its events come before
		t.Fatal(a, err)
	}
	if got := strings.Join(e.said, ", "); got != "here, renewed 1, lost 1 false gone" {
		t.Errorf("%s", got)
	}
}
