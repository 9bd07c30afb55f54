package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// agent is an agent that talks with sim mcp, started in dir.
type agent struct {
	*mcp.ClientSession
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	told  chan string
}

func startAgent(t *testing.T, dir string, args ...string) *agent {
	t.Helper()
	a := &agent{t: t, cmd: exec.Command("sim", append([]string{"mcp"}, args...)...), told: make(chan string, 100)}
	a.cmd.Dir = dir
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			select {
			case a.told <- r.Params.Message:
			default:
			}
		}})
	stdin, err1 := a.cmd.StdinPipe()
	stdout, err2 := a.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, a.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	a.stdin = stdin
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: stdout, Writer: stdin}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.ClientSession = session
	t.Cleanup(a.goAway)
	return a
}

// goAway ends the agent, whatever it waits for, and wants sim to end in order.
func (a *agent) goAway() {
	if a.cmd.ProcessState != nil {
		return
	}
	_ = a.stdin.Close()
	if err := suite.Ends(a.t, a.cmd); a.cmd.ProcessState == nil {
		a.t.Errorf("sim ended so: %v", err)
	}
}

// call calls a tool. out is filled with its result for programs; an error is the text of a refusal.
func (a *agent) call(tool string, arguments map[string]any, out any) (text string, refused bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), suite.Patience)
	defer cancel()
	r, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text
	}
	if out != nil && !r.IsError {
		doc, err := json.Marshal(r.StructuredContent)
		if err == nil {
			err = json.Unmarshal(doc, out)
		}
		if err != nil {
			a.t.Fatalf("%s: %v", tool, err)
		}
	}
	return text, r.IsError
}

// refuses wants a call to be refused in words that have each part.
func (a *agent) refuses(tool string, arguments map[string]any, parts ...string) {
	a.t.Helper()
	text, refused := a.call(tool, arguments, nil)
	for _, part := range parts {
		if !refused || !strings.Contains(text, part) {
			a.t.Errorf("%s %v: refused %v, and says no %q:\n%s", tool, arguments, refused, part, text)
		}
	}
}

// does wants a call to be done.
func (a *agent) does(tool string, arguments map[string]any, out any) string {
	a.t.Helper()
	text, refused := a.call(tool, arguments, out)
	if refused {
		a.t.Fatalf("%s %v: %s", tool, arguments, text)
	}
	return text
}

type args = map[string]any

const ofAgent = `name: of-an-agent
title: A holder stands still for longer than its lease
nodes: {count: 5, persistence: none}
lock: {algorithm: redlock, ttl: 1s, node_timeout: 50ms}
resource: {kind: register}
workload: {kind: increment, clients: 2, sections: 1}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
variants:
  fenced: {fencing: {tokens: quorum-counter}}
expect:
  fenced: {exclusive-lease: holds, linearizable-resource: holds}
`

// TestAgents: an agent lists, reads, checks, writes, runs, has explained and searches, all without a lock program.
func TestAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := startAgent(t, dir)
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "conform" || tool.Name == "audit" {
			t.Errorf("without --allow-programs there is the tool %s", tool.Name)
		}
	}
	var list listOut
	a.does("list", args{"match": "gc-pause"}, &list)
	if !slices.ContainsFunc(list.Items, func(l listed) bool { return l.Name == "gc-pause" }) {
		t.Errorf("no gc-pause in %v", list)
	}
	if text := a.does("list", args{"topic": "faults"}, nil); !strings.Contains(text, "pause") {
		t.Errorf("no fault pause:\n%s", text)
	}
	a.refuses("list", args{"topic": "spells"}, "nothing to list", "hint: ")
	if text := a.does("read_docs", args{}, nil); !strings.Contains(text, "guide/agents.md") {
		t.Errorf("the list of pages has no page for agents:\n%s", text)
	}
	if text := a.does("read_docs", args{"page": "your-own-lock"}, nil); !strings.HasPrefix(text, "# ") {
		t.Errorf("no page:\n%s", text)
	}
	if text := a.does("read_docs", args{"find": "--allow-programs"}, nil); !strings.Contains(text, "guide/safety.md:") {
		t.Errorf("not found:\n%s", text)
	}
	a.refuses("read_docs", args{"page": "../go.mod"}, "no page")

	if text := a.does("show_scenario", args{"scenario": "gc-pause"}, nil); !strings.Contains(text, "name: gc-pause") {
		t.Errorf("no scenario:\n%s", text)
	}
	a.refuses("check_scenario", args{"yaml": "name: x\nlock: {algorithm: red}\n"}, "scenario:2:", "redlock")
	var checked checkOut
	if a.does("check_scenario", args{"yaml": ofAgent}, &checked); checked.Name != "of-an-agent" || checked.Variants[0] != "fenced" {
		t.Errorf("checked %+v", checked)
	}
	a.does("write_scenario", args{"file": "locks/mine.yaml", "yaml": ofAgent}, nil)
	a.refuses("write_scenario", args{"file": "locks/mine.yaml", "yaml": ofAgent}, "exists already")
	var ran toldRun
	text := a.does("run_scenario", args{"scenario": "locks/mine.yaml", "seed": 7}, &ran)
	if ran.Outcome != "as expected" || ran.Seed != 7 || !strings.Contains(text, "exclusive-lease") {
		t.Errorf("ran %+v\n%s", ran, text)
	}
	if _, err := os.Stat(filepath.Join(dir, ran.Report)); err != nil {
		t.Error(err)
	}
	var again toldRun
	if a.does("explain_run", args{"run": ran.Folder}, &again); again.Outcome != ran.Outcome || again.Seed != 7 {
		t.Errorf("explained %+v", again)
	}
	var unfenced toldRun
	a.does("run_scenario", args{"scenario": "gc-pause"}, &unfenced)
	told, _ := json.Marshal(unfenced)
	if !strings.Contains(string(told), "one update is lost") {
		t.Errorf("no story in %s", told)
	}
	var newest toldRun
	if a.does("explain_run", args{}, &newest); newest.Scenario != "gc-pause" {
		t.Errorf("the newest run is %+v", newest)
	}
}

// TestAgentsSearch: a search tells what it found, and that runs; a text is kept, so that its runs can be repeated.
func TestAgentsSearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := startAgent(t, dir)
	var found searchOut
	a.does("search", args{"yaml": strings.ReplaceAll(ofAgent, "quorum-counter", "none"), "seeds": 300, "seconds": 60, "bare": true,
		"properties": []string{"linearizable-resource"}, "kinds": []string{"pause"}}, &found)
	if found.Outcome != "violated" || len(found.Found) == 0 || found.Runs != 300 {
		t.Fatalf("found %+v", found)
	}
	var ran toldRun
	a.does("run_scenario", args{"scenario": found.Found[0].Scenario}, &ran)
	if told, _ := json.Marshal(ran); !strings.Contains(string(told), `"verdict":"violated"`) {
		t.Errorf("what was found does not show again: %s", told)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "reports/mcp/of-an-agent-*.yaml"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	a.refuses("search", args{"scenario": "gc-pause", "kinds": []string{"earthquake"}}, "no fault", "hint: there are bandwidth")
	a.refuses("search", args{"scenario": "gc-pause", "seconds": 601}, "want 1 to 600")
	a.refuses("search", args{}, "name a scenario")
}

// TestAgentsMayNot: what an agent asks for beyond what the user permits is refused, and leaves nothing.
func TestAgentsMayNot(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "repository")
	for _, folder := range []string{dir, filepath.Join(top, "elsewhere")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "elsewhere/secret.yaml"), []byte("password: hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": "../elsewhere", "secret.yaml": "../elsewhere/secret.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	a := startAgent(t, dir)
	touch := "touch " + filepath.Join(top, "touched")
	program := strings.Replace(ofAgent, "algorithm: redlock", `program: {command: [touch, "`+filepath.Join(top, "touched")+`"]}`, 1)
	for _, c := range []args{{"scenario": "gc-pause", "lock": touch}, {"yaml": program}} {
		a.refuses("run_scenario", c, "program", "only whoever starts sim mcp can permit it, with --allow-programs")
		a.refuses("search", c, "program", "only whoever starts sim mcp can permit it, with --allow-programs")
	}
	if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "conform", Arguments: args{"command": touch}}); err == nil {
		t.Error("there is a tool conform")
	}
	a.refuses("run_scenario", args{"scenario": "gc-pause", "allow_programs": true}, "allow_programs")

	outside := "not below the folder"
	secret := filepath.Join(top, "elsewhere/secret.yaml")
	for _, path := range []string{"../elsewhere/secret.yaml", secret, "secret.yaml", "secret", "out/secret.yaml"} {
		a.refuses("show_scenario", args{"scenario": path}, outside)
		a.refuses("run_scenario", args{"scenario": path}, outside)
	}
	for _, path := range []string{"../elsewhere", filepath.Join(top, "elsewhere"), "out", "secret.yaml"} {
		a.refuses("explain_run", args{"run": path}, outside)
	}
	for _, path := range []string{"../new.yaml", filepath.Join(top, "new.yaml"), "out/new.yaml", "a/../../new.yaml"} {
		a.refuses("write_scenario", args{"file": path, "yaml": ofAgent}, "")
	}
	a.refuses("write_scenario", args{"file": "main.go", "yaml": ofAgent}, "ends with .yaml")
	a.refuses("write_scenario", args{"file": "sim.yaml", "yaml": ofAgent}, "no scenario")
	a.refuses("write_scenario", args{"file": "bad.yaml", "yaml": "run: me\n"}, "scenario:1:")
	a.refuses("check_scenario", args{"yaml": "name: x\n#" + strings.Repeat("x", 1<<20)}, "larger than")
	for _, path := range []string{"touched", "new.yaml", "elsewhere/new.yaml", "repository/bad.yaml", "repository/main.go"} {
		if _, err := os.Stat(filepath.Join(top, path)); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}

// TestAgentsGoAway: a call that the agent cancels ends, and the next is served; a call under way when the agent goes away ends, too, and so
// does sim. A message that is too long ends the connection.
func TestAgentsGoAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := startAgent(t, dir)
	long := &mcp.CallToolParams{Name: "search", Arguments: args{"scenario": "gc-pause", "variant": "fenced", "seconds": 600}}
	long.SetProgressToken("far")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := a.CallTool(ctx, long)
		ended <- err
	}()
	if text := suite.Receive(t, "progress", a.told); !strings.Contains(text, "runs/s") {
		t.Errorf("told %q", text)
	}
	cancel()
	if err := suite.Receive(t, "the end of the call", ended); err == nil {
		t.Error("the call that was cancelled has a result")
	}
	a.does("run_scenario", args{"scenario": "gc-pause"}, nil) // it waits until the search has ended

	go func() {
		_, err := a.CallTool(t.Context(), long)
		ended <- err
	}()
	suite.Receive(t, "progress", a.told)
	a.goAway()
	if code := a.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("sim ended with %d", code)
	}

	huge := startAgent(t, dir)
	if _, err := huge.CallTool(t.Context(), &mcp.CallToolParams{Name: "check_scenario",
		Arguments: args{"yaml": strings.Repeat("x", mostMessage)}}); err == nil {
		t.Error("a message of more than 4 MiB is read")
	}
	if huge.goAway(); huge.cmd.ProcessState.ExitCode() != app.ExitUsage {
		t.Errorf("sim ended with %d", huge.cmd.ProcessState.ExitCode())
	}
}

// TestAgentsWithPrograms: with --allow-programs an agent puts a lock program on trial, that of sim.yaml where it names none.
func TestAgentsWithPrograms(t *testing.T) {
	t.Parallel()
	if err := guests.Available(); err != nil {
		suite.Lacks(t, "virtual time with real programs: "+err.Error())
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sim.yaml"), []byte("lock: sim lock set-nx-px\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, dir, "--allow-programs")
	var conforms conformOut
	if text := a.does("conform", args{}, &conforms); conforms.Outcome != "conforms" || !strings.Contains(text, "conforms: ") {
		t.Errorf("%+v\n%s", conforms, text)
	}
	var ran toldRun
	a.does("run_scenario", args{"scenario": "set-nx-px"}, &ran)
	if ran.Outcome == "failed" || len(ran.Variants) == 0 {
		t.Errorf("ran %+v", ran)
	}
	var card auditOut
	a.does("audit", args{"case": "^late-release/"}, &card)
	if len(card.Cells) == 0 || card.Folder == "" {
		t.Errorf("%+v", card)
	}
	a.refuses("conform", args{"command": "/no/such/program"}, "no such file")
	a.refuses("audit", args{"lock": "sim lock set-nx-px", "guarantees": []string{"luck"}}, "luck")

	plain := startAgent(t, dir)
	text := plain.does("run_scenario", args{"scenario": "gc-pause"}, &ran)
	if !strings.Contains(text, "note: sim.yaml names a lock program, which is not started") {
		t.Errorf("no note:\n%s", text)
	}
}

// TestAgentsLines: what sim mcp writes are JSON-RPC messages, one a line, and nothing else.
func TestAgentsLines(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sim", "mcp")
	cmd.Dir = t.TempDir()
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	for _, c := range []struct{ say, hear string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`, `"name":"redlock-sim"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_scenario","arguments":{"scenario":"gc-pause"}}}`,
			`"outcome":"as expected"`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_scenario","arguments":{"seed":"x"}}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no_such_tool"}}`, `"error":`},
	} {
		if _, err := io.WriteString(stdin, c.say+"\n"); err != nil {
			t.Fatal(err)
		}
		if c.hear == "" {
			continue
		}
		line := suite.Receive(t, "an answer", lines)
		if !json.Valid([]byte(line)) || !strings.Contains(line, c.hear) || !strings.Contains(line, `"jsonrpc":"2.0"`) {
			t.Errorf("%s\nis answered by\n%s\nwant %s", c.say, line, c.hear)
		}
	}
	_ = stdin.Close()
	if line := suite.Receive(t, "the end of what it prints", lines); line != "" {
		t.Errorf("one line too many: %s", line)
	}
	if err := suite.Ends(t, cmd); err != nil {
		t.Error(err)
	}
}
