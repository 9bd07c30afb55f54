package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

func newMCPCommand(a *cli) *cobra.Command {
	var allowPrograms bool
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve coding agents: list, run, search, explain, and write scenarios",
		Long: `Serve coding agents over the Model Context Protocol, on stdin and stdout. The program that hosts
the agent starts this command, in the folder of the repository; docs/guide/agents.md says how
to tell it so.

The agent can list what there is, run a scenario, search for schedules that break a lock,
have a stored run explained, check a scenario, write one as a new file, and read the docs.

All runs are in virtual time. Files are read and written below this folder alone, never
through a link that leads out of it, and none that exists is changed. No lock program is
started, unless --allow-programs is given: then the agent can start any program as a lock,
also one that it has written itself.

The command ends when its standard input does. What runs then is ended in order.`,
		Example: `  sim mcp
  sim mcp --allow-programs`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a.orderly.Store(true)
			return a.serveAgents(c.Context(), allowPrograms)
		},
	}
	c.Flags().BoolVar(&allowPrograms, "allow-programs", false, "let the agent start lock programs: any command that it names, as you")
	return c
}

// mostMessage bounds a message of an agent, in bytes. The longest has a scenario.
const mostMessage = 4 << 20

// agents serves one agent.
type agents struct {
	*cli
	// programs: lock programs may be started.
	programs bool
	// turn is held by whoever runs something: processes that are left behind are found by whose children they are, so those of two requests
	// must not be there at once.
	turn chan struct{}
}

// serveAgents serves until stdin or ctx ends. Calls that are under way are then ended.
func (a *cli) serveAgents(ctx context.Context, allowPrograms bool) error {
	m := &agents{cli: a, programs: allowPrograms, turn: make(chan struct{}, 1)}
	err := m.server(ctx).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(a.stdin), Writer: unclosed{a.stdout}, MaxLineLength: mostMessage})
	switch {
	case ctx.Err() != nil:
		return app.Interrupted("interrupted")
	case err != nil:
		return app.Usagef("the agent's side of the connection: %w", err)
	}
	return nil
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// instructions are what an agent reads first.
const instructions = `sim puts Redis locks on trial under faults: pauses, network faults, clock jumps, crashes. Runs are in virtual
time: the same seed makes the same run. Start with list, and with read_docs, which lists the pages. "violated" is a fact about a
run; "holds" means that this run did not violate it. A run always names the command line that repeats it.`

// server has the tools. The calls end with ctx.
func (m *agents) server(ctx context.Context) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "redlock-sim", Title: "redlock-sim", Version: programVersion()},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	addTool(ctx, s, reads("list", "List what can be run and what can stand in a scenario. Topics: "+strings.Join(topicNames(), ", ")+
		". Each item of scenarios has the name that run_scenario takes."), m.listTopic)
	addTool(ctx, s, reads("show_scenario", "Show the YAML of a scenario: one that sim ships, or a file. "+
		"Write new ones after such an example."), m.showScenario)
	addTool(ctx, s, reads("check_scenario", "Check the YAML of a scenario without running it: all mistakes with line, column and a hint."),
		m.checkScenario)
	addTool(ctx, s, adds("write_scenario", "Check the YAML of a scenario, and write it as a new file below the folder in which sim mcp "+
		"was started. A file that exists is never changed."), m.writeScenario)
	addTool(ctx, s, reads("read_docs", "Read a page of sim's documentation, list the pages, or find words in them."), m.readDocs)
	addTool(ctx, s, adds("run_scenario", "Run a scenario in virtual time and judge it: the verdict on each property, what happened in case "+
		"of a violation, and the report's path. Name it, or give its YAML."), m.runScenario)
	addTool(ctx, s, adds("search", "Search for schedules of faults that break a lock: the scenario is run many times with random faults. "+
		"What is found is shrunk, and written as scenarios with reports."), m.search)
	addTool(ctx, s, reads("explain_run", "Explain a stored run: it is judged again by the checker of this version; the verdicts, "+
		"and what happened."), m.explainRun)
	if m.programs {
		addTool(ctx, s, adds("conform", "Check that a lock program speaks the lock protocol and behaves as a lock. "+
			"Do this before all else with a new one."), m.conformTool)
		addTool(ctx, s, adds("audit", "Make the report card of a lock: which guarantees it keeps and which it breaks. It takes minutes; "+
			"name guarantees to put fewer to the test."), m.auditTool)
	}
	return s
}

// reads is a tool that changes nothing, adds one that makes new files.
func reads(name, about string) *mcp.Tool {
	closed := false
	return &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}}
}

func adds(name, about string) *mcp.Tool {
	no, closed := false, false
	return &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &closed}}
}

// call is one call of a tool: what it printed, and whom it tells how far it is.
type call struct {
	printed clipped
	tell    func(text string)
	told    time.Time
}

// addTool adds a tool. What do prints is what the agent reads; result is the same for programs.
func addTool[In, Out any](session context.Context, s *mcp.Server, t *mcp.Tool, do func(context.Context, *call, In) (Out, error)) {
	mcp.AddTool(s, t, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		c := &call{tell: teller(ctx, r)}
		out, err := do(ctx, c, in)
		if err != nil {
			return nil, out, errors.New(fit(explained(err)))
		}
		result := &mcp.CallToolResult{}
		if text := c.printed.String(); text != "" {
			result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
		}
		return result, out, nil
	})
}

// teller tells the agent how far a call is, if it asked to be told.
func teller(ctx context.Context, r *mcp.CallToolRequest) func(string) {
	token, done := r.Params.GetProgressToken(), 0.0
	return func(text string) {
		if token != nil {
			done++
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Message: plain.Text(text)})
		}
	}
}

// progressEvery is how often an agent is told at most how far a call is.
const progressEvery = time.Second

// hear is an app.Listener: what came of something is printed by l, notes stand before it, and how far it is the agent is told.
func (c *call) hear(l *listener) app.Listener {
	return func(e app.Event) {
		switch e := e.(type) {
		case app.Note:
			fmt.Fprintf(plain.Lines{Writer: &c.printed}, "note: %s\n", e.Text)
			return
		case app.PieceBegun:
			c.progress(func() string { return e.Name })
			return
		case app.PiecePhase, app.PieceEnded, app.Planned, app.WorkOver, app.Started:
			return
		case app.Phase:
			c.progress(func() string { return e.Text })
			return
		case app.Searching:
			c.progress(func() string { return searchLine(e) })
			return
		}
		l.hear(e)
	}
}

func (c *call) progress(text func() string) {
	if now := time.Now(); now.Sub(c.told) >= progressEvery {
		c.told = now
		c.tell(text())
	}
}

// mostText bounds what an agent reads of one call, in bytes; mostWords one text in it.
const (
	mostText  = 100 << 10
	mostWords = 2000
)

// clipped is text of at most mostText bytes.
type clipped struct {
	mu   sync.Mutex
	text bytes.Buffer
	cut  bool
}

// Write implements io.Writer. What is too much is dropped.
func (c *clipped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := mostText - c.text.Len()
	if len(p) > room {
		c.cut = true
	}
	c.text.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (c *clipped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.ToValidUTF8(c.text.String(), "")
	if c.cut {
		text += "\n(more was left out here)\n"
	}
	return text
}

// fit makes text of unknown origin fit for an agent: its lines as they are, none with control characters, and not too much of it.
func fit(text string) string {
	var b strings.Builder
	_, _ = plain.Lines{Writer: &b}.Write([]byte(plain.Clip(text, mostWords)))
	return b.String()
}

// exclusively lets one call at a time run something, for at most so long.
func (m *agents) exclusively(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return app.Interrupted("interrupted before anything was run")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

// permitted is what agents are permitted.
func (m *agents) permitted(lock string) *app.Env {
	env := m.env()
	env.Permit = app.Permit{Lock: m.programs && lock != "", Programs: m.programs, ProgramHint: programHint}
	return env
}

const programHint = "only whoever starts sim mcp can permit it, with --allow-programs"

// seconds is a time that an agent asks for.
func seconds(asked, usual, most int) (time.Duration, error) {
	switch {
	case asked == 0:
		asked = usual
	case asked < 0 || asked > most:
		return 0, app.Usagef("seconds %d: want 1 to %d", asked, most)
	}
	return time.Duration(asked) * time.Second, nil
}

// inside refuses a path that leads out of the folder, also by a link. What is not there is left to whoever looks for it.
func inside(folder *os.Root, path string) error {
	if !filepath.IsLocal(path) {
		return outside(path)
	}
	switch _, err := folder.Stat(path); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return outside(path)
	}
}

func outside(path string) error {
	return app.Usagef("%q is not below the folder in which sim mcp was started", path).
		Hint("give a path from that folder, such as locks/my-lock.yaml")
}
