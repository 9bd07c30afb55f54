package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answering is a server that answers each command with what the first of some words in it is for.
func answering(t *testing.T, answers map[string]string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				in := bufio.NewScanner(conn)
				for in.Scan() {
					if answer, ok := answers[in.Text()]; ok {
						_, _ = io.WriteString(conn, answer)
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// What a server says opens no address that the user has not named or permitted, and sends no password there in the clear.
func TestForeignAddresses(t *testing.T) {
	const foreign = "192.0.2.1"
	sentinel := answering(t, map[string]string{"SETNAME": "+OK\r\n",
		"GET-MASTER-ADDR-BY-NAME": fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$4\r\n6379\r\n", len(foreign), foreign)})
	cluster := answering(t, map[string]string{"SETNAME": "+OK\r\n", "AUTH": "+OK\r\n",
		"SLOTS": fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:6379\r\n", len(foreign), foreign)})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a Sentinel": {[]string{"redis+sentinel://" + sentinel + "/mm"}, "192.0.2.1:6379 is not contacted: " + sentinel + " tells of it"},
		"a Cluster":  {[]string{"redis+cluster://" + cluster}, "192.0.2.1:6379 is not contacted: " + cluster + " tells of it"},
		"with a password": {[]string{"redis+cluster://" + cluster, "--follow", "--password-env", "PASSWORD"},
			"192.0.2.1:6379 is not contacted: the password would go to 192.0.2.1:6379 without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			code := run(&cli{system: "linux", args: append([]string{"observe", "--keys", "lock:*"}, c.args...), now: time.Now,
				variable: func(string) string { return "secret" }, stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr})
			if code != 3 || !strings.Contains(stderr.String(), c.want) || strings.Contains(stderr.String(), "secret") {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
		})
	}
}
