// Command program is a static Go program.
package main

import (
	"bufio"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

var begin = time.Now()

func say(what ...any) {
	now := time.Now()
	fmt.Println(append([]any{now.Sub(begin).Round(time.Millisecond).Milliseconds(),
		now.Round(0).Sub(begin.Round(0)).Round(time.Millisecond).Milliseconds()}, what...)...)
}

func day() {
	time.Sleep(time.Hour)
	say("slept")
	ready, timeout := make(chan int), time.After(4*time.Second)
	var all sync.WaitGroup
	all.Go(func() {
		time.Sleep(10 * time.Second)
		ready <- 1
		time.Sleep(7500 * time.Millisecond)
	})
	select {
	case <-ready:
	case <-timeout:
		say("early")
	}
	<-ready
	say("ready")
	all.Wait()
	say("joined")
	err := exec.Command("/bin/sh", "-c", "sleep 4; exit 5").Run()
	say("child", err)
	b := make([]byte, 4)
	_, _ = crand.Read(b)
	fmt.Println("random", rand.Int(), hex.EncodeToString(b))
}

func serve(port string) {
	listener, err := net.Listen("tcp4", ":"+port)
	if err != nil {
		panic(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	say("accepted", conn.RemoteAddr().(*net.TCPAddr).IP)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		time.Sleep(time.Second)
		say("heard", lines.Text())
		fmt.Fprintln(conn, "you said", lines.Text())
	}
	say("over")
}

func ask(host, port string) {
	conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err != nil {
		panic(err)
	}
	say("connected")
	in := bufio.NewReader(conn)
	for _, word := range []string{"one", "two"} {
		fmt.Fprintln(conn, word)
		line, _ := in.ReadString('\n')
		say(strings.TrimSpace(line))
	}
	conn.Close()
}

func main() {
	switch os.Args[1] {
	case "day":
		day()
	case "serve":
		serve(os.Args[2])
	case "ask":
		ask(os.Args[2], os.Args[3])
	case "sleeps":
		n, _ := strconv.Atoi(os.Args[2])
		for range n {
			time.Sleep(time.Microsecond)
		}
	case "crash":
		time.Sleep(2 * time.Second)
		panic("crash")
	}
}
