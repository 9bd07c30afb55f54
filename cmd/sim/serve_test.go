package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

var address = regexp.MustCompile(`http://\S+`)

// serving ARGS... runs sim serve, opens the address that it prints as a shell and a
// browser would, and then what lies there without the secret: page.txt and closed.txt.
func serving(ts *testscript.TestScript, _ bool, args []string) {
	printed := ts.MkAbs("stderr.txt")
	f, err := os.Create(printed)
	ts.Check(err)
	defer f.Close()
	cmd := simCommand(ts, append([]string{"serve"}, args...), nil, nil)
	cmd.Stdout, cmd.Stderr = f, f
	ts.Check(cmd.Start())
	var text []byte
	suite.Eventually(ts, "the address", func() bool {
		text, err = os.ReadFile(printed)
		return err == nil && strings.Contains(string(text), "Ctrl-C")
	})
	url := strings.ReplaceAll(string(address.Find(text)), "$SECRET", ts.Getenv("SECRET"))
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	bare, _, _ := strings.Cut(url, "?")
	for _, c := range []struct {
		url, file string
		client    http.Client
	}{{url, "page.txt", http.Client{Jar: jar, Timeout: suite.Patience}}, {bare, "closed.txt", http.Client{Timeout: suite.Patience}}} {
		res, err := c.client.Get(c.url)
		ts.Check(err)
		body, err := io.ReadAll(res.Body)
		ts.Check(err)
		ts.Check(res.Body.Close())
		ts.Check(os.WriteFile(ts.MkAbs(c.file), append([]byte(res.Status+"\n"), body...), 0o644))
	}
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	ts.Check(suite.Ends(ts, cmd))
}
