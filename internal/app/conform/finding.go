package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Finding is what is wrong with a program.
type Finding struct {
	// Seen and Expected tell what differs, Mend what to do about it.
	Seen     string `json:"seen"`
	Expected string `json:"expected"`
	Mend     string `json:"mend"`
	// Line is the one that shows it.
	Line string `json:"line,omitempty"`
	// Log is where all lines of the program are.
	Log string `json:"log,omitempty"`
	// Output and Printed are the last lines of a program that has ended: those on standard
	// output, and those that are no messages, most of them from standard error.
	Output  []string `json:"output,omitempty"`
	Printed []string `json:"printed,omitempty"`

	// guarantee is the row of a report card in which it counts against the lock, where that is another one than its check's; ofLock: it
	// does, though its check is not about the lock.
	guarantee string
	ofLock    bool
	// usual is the row in which it counts in a check of the lock, whatever that is about; empty: in the check's. ofProgram: it shows how
	// the program speaks, and not what its lock does.
	usual     string
	ofProgram bool
}

// keepsFromProgress has a finding count in the row of progress, whatever check of the lock meets it.
func (f *Finding) keepsFromProgress() *Finding {
	f.usual = progress
	return f
}

// spoken is about how the program speaks.
func (f *Finding) spoken() *Finding {
	f.ofProgram = true
	return f
}

// against has a finding count in a row of a report card; empty: in none.
func (f *Finding) against(guarantee string) *Finding {
	f.ofLock, f.guarantee = true, guarantee
	return f
}

func (f *Finding) Error() string { return f.Seen }

// finding is one about a client.
func (c *client) finding(seen, expected, mend string) *Finding {
	f := &Finding{Seen: seen, Expected: expected, Mend: mend, Log: c.path}
	if l := c.lastLine(); l.Text != "" {
		f.Line = l.String()
	}
	return f
}

// failed tells what an error of a conversation shows. doing is the message that was not
// answered well.
func (c *client) failed(ctx context.Context, doing program.Type, err error) error {
	var ended *program.Ended
	var unknown *world.Unknown
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unknown):
		return err
	case errors.As(err, &ended):
		return c.endedEarly(doing, ended)
	case errors.Is(err, context.DeadlineExceeded):
		return c.unanswered(ctx, doing)
	}
	f := c.finding(err.Error(), "one answer to each request, with its id", "compare the line with docs/reference/lock-protocol.md").spoken()
	switch l := c.lastLine(); {
	case l.Wrong != "":
		f.Expected, f.Mend = "a message of the protocol: "+l.Wrong, mendLine(l)
	case l.kind() == program.Error:
		f.Expected, f.Mend = fmt.Sprintf("an answer to %q", doing), "the program itself says what is wrong; its log may tell more"
	}
	return f
}

// mendLine says what to do about a line that the schema refuses.
func mendLine(l Line) string {
	switch {
	case strings.Contains(l.Wrong, "missing property 'id'"):
		return "repeat the id of the request in its answer"
	case strings.Contains(l.Wrong, "is not known"):
		return "if it is a library that prints JSON: put standard error in the place of standard output (docs/reference/lock-protocol.md, " +
			"\"A library that prints\"); otherwise look for a mistake in the type"
	case strings.Contains(l.Wrong, "got string, want"):
		return "write numbers without quotes"
	}
	return "compare the line with docs/reference/lock-protocol.md"
}

func (c *client) endedEarly(doing program.Type, e *program.Ended) *Finding {
	f := c.finding(fmt.Sprintf("the program ended: %s%s", e.How, meanwhile(doing)), "it goes on until its standard input ends",
		"look at what it printed last").keepsFromProgress()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.got {
		f.Output = append(f.Output, l.Text)
	}
	f.Printed = e.Last
	return f
}

// meanwhile says what a program was doing.
func meanwhile(doing program.Type) string {
	if doing == "" {
		return ""
	}
	return fmt.Sprintf(", while it was asked %q", doing)
}

// unanswered finds out why no answer came.
func (c *client) unanswered(ctx context.Context, doing program.Type) error {
	const expected = "an answer in one line, with a line break at its end"
	f := c.finding(fmt.Sprintf("no answer to %q within %v", doing, c.suite.patience()), expected,
		"answer each request, and read on while one is under way").keepsFromProgress()
	nearly := func() bool {
		l, why := c.nearlyMessage()
		if why != "" {
			f.Line, f.Expected, f.Mend = l.String(), "a JSON object in one line, with a text as its type", why
			f.usual, f.ofProgram = "", true
		}
		return why != ""
	}
	if nearly() {
		return f
	}
	c.mu.Lock()
	sent := c.sent
	c.mu.Unlock()
	before, after, err := c.suite.place.probe(ctx, sent)
	// A program that starts slowly writes only after its input ended: what it wrote counts, not when.
	all := before + after
	switch {
	case err != nil:
		return err
	case isMessage(lastOf(all)) && !strings.HasSuffix(all, "\n"):
		f.Seen += ": the answer came, without a line break at its end"
		f.usual, f.ofProgram = "", true
		f.Line, f.Mend = lastOf(all), `end each message with a line break ("\n")`
	case len(messagesIn(after)) > 0:
		f.Seen += ": the answer came only when its standard input ended"
		f.usual, f.ofProgram = "", true
		f.Line, f.Mend = messagesIn(after)[0], "flush standard output after each line (Python: print(..., flush=True); C: fflush(stdout))"
	case nearly(): // it has come meanwhile
	case strings.TrimSpace(all) == "" && doing == program.Hello:
		f.Mend = "read a line from standard input, and answer it on standard output. If the program only needs longer to start: it has 20 s"
	}
	return f
}

// nearlyMessage is a line that was meant to be a message, and what is wrong with it.
func (c *client) nearlyMessage() (l Line, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.got {
		if l.Direction != Printed || !strings.HasPrefix(l.Text, "{") {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(l.Text), &fields); err != nil {
			return l,
				fmt.Sprintf("write JSON (%v). Let a library write it: texts have double quotes, and no comma stands behind the last field", err)
		}
		return l, `name the message: {"type": ...}`
	}
	return Line{}, ""
}

func lastOf(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// messagesIn are the lines that are messages.
func messagesIn(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); isMessage(line) {
			list = append(list, line)
		}
	}
	return list
}

func isMessage(line string) bool {
	err := CheckLine(false, []byte(line))
	return err == nil || !errors.Is(err, errNoMessage)
}
