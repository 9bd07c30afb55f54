package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// named is a connection of which a test plays both ends, and MONITOR.
type named struct {
	*conn
	// sentAt is when each command left, of those that are remembered.
	sentAt []time.Duration
	// since is when MONITOR began.
	since time.Duration
}

func newNamed() *named {
	n := &named{}
	n.open(&ConnReader{Names: true})
	return n
}

func (n *named) open(w *ConnReader) {
	n.conn = w.newConn(world.Link{From: "c1", To: "A"})
	n.feed(true, "+OK\r\n")
}

func (n *named) feed(answers bool, text string) {
	for data := []byte(text); len(data) > 0; {
		data = data[n.read(answers, data).size:]
	}
}

// send has the client send a command.
func (n *named) send(words string) {
	before := n.reader.waiting.Load()
	n.feed(false, asSent(words))
	if n.reader.waiting.Load() > before {
		n.sentAt = append(n.sentAt, n.sent[len(n.sent)-1].at)
	}
}

// line has MONITOR show a command, and says which it was by when it left: 1 is the first; 0: it is not known.
func (n *named) line(words string) (number int) {
	at, known := n.reader.LeftAt(n.name, strings.Fields(words), n.since)
	if !known {
		return 0
	}
	return slices.Index(n.sentAt, at) + 1
}

// play plays steps: "> SET k v" is sent, "< +OK" answered, "= SET k v|2" shown by MONITOR: it is the second command that left;
// 0: that is not known. "MONITOR" begins the stream, "end" ends the connection.
func (n *named) play(t *testing.T, steps string) {
	t.Helper()
	for step := range strings.SplitSeq(steps, "\n") {
		step = strings.TrimSpace(step)
		kind, text, _ := strings.Cut(step, " ")
		switch kind {
		case "":
			continue
		case ">":
			n.send(text)
		case "<":
			n.feed(true, strings.ReplaceAll(text, " / ", "\r\n")+"\r\n")
		case "=":
			words, want, _ := strings.Cut(text, "|")
			if got := n.line(words); fmt.Sprint(got) != want {
				t.Errorf("%s: it is command %d", step, got)
			}
		case "MONITOR":
			n.since = machine.Monotonic()
		case "end":
			n.end()
		default:
			t.Fatalf("no step: %q", step)
		}
	}
}

const noReplicas = "< -NOREPLICAS Not enough good replicas to write.\n"

func TestWhichCommandALineIs(t *testing.T) {
	for name, steps := range map[string]string{
		"one": "> SET k v \n < +OK \n = SET k v|1 \n = SET k v|0",
		"of two that are equal, one after the other":        "> SET k v \n > SET k v \n < +OK \n < +OK \n = SET k v|1 \n = SET k v|2",
		"one that has no answer, and none like it is there": "> SET k v \n = SET k v|1",
		"not one that was refused":                          "> SET k v \n " + noReplicas + "> SET k v \n < +OK \n = SET k v|2",
		"nor several": "> SET k v \n " + noReplicas + "> SET k v \n" +
			" < -OOM command not allowed \n > SET k v \n < +OK \n = SET k v|3",
		"one is refused in the middle": "> GET a \n > SET k v \n > GET a \n > SET k v \n < $-1 \n" + noReplicas + "< $-1 \n < +OK \n" +
			"= GET a|1 \n = GET a|3 \n = SET k v|4",
		"an error of the command itself is shown": "> LPUSH k v \n < -WRONGTYPE Operation \n > LPUSH k v \n < :1 \n = LPUSH k v|1 \n" +
			" = LPUSH k v|2",
		"and so is a script that is not there": "> EVALSHA x 0 \n < -NOSCRIPT No matching script \n > EVALSHA x 0 \n < :1 \n" +
			" = EVALSHA x 0|1",
		"BUSYKEY is not BUSY": "> RESTORE k 0 x \n < -BUSYKEY Target \n > RESTORE k 0 x \n < +OK \n = RESTORE k 0 x|1",
		"an unknown command": "> SAT k \n < -ERR unknown command 'SAT', with args beginning with: 'k' \n" +
			" > SAT k \n < +OK \n = SAT k|2",
		"too few words, or a command that is shown and says the same": "> HSET k f \n < -ERR wrong number of arguments for 'hset' command \n" +
			"> HSET k f \n < -ERR wrong number of arguments for 'hset' command \n > GET a \n < $-1 \n = HSET k f|0 \n = GET a|3",
		"not allowed where it is subscribed": "> SUBSCRIBE a \n < *3 / $9 / subscribe / $1 / a / :1 \n > GET k \n" +
			"< -ERR Can't execute 'get': only (P|S)SUBSCRIBE / x \n > PING \n < *2 / $4 / pong / $0 /  \n = SUBSCRIBE a|1 \n = PING|3",
		"before AUTH": "> SET k v \n < -NOAUTH Authentication required. \n > AUTH p \n < +OK \n > SET k v \n < +OK \n = SET k v|2",
		"what MONITOR hides, or shows otherwise": "> HELLO 3 AUTH u p \n < %1 / +a / :1 \n > CLIENT NO-EVICT on \n < +OK \n > CONFIG GET x \n" +
			"< *0 \n > SET k v \n < +OK \n = HELLO 3 AUTH (redacted) (redacted)|0 \n = SET k v|1",
		"a key is moved with a password": "> MIGRATE h 1 k 0 1 AUTH p \n < +OK \n > SET k v \n < +OK \n" +
			" = MIGRATE h 1 k 0 1 AUTH (redacted)|0 \n = SET k v|2",
		"one before it ought to have shown, and what follows is known": "> SET a 1 \n < +OK \n > SET b 1 \n < +OK \n > SET c 1 \n < +OK \n" +
			"= SET b 1|0 \n = SET a 1|0 \n = SET c 1|3",
		"what left before MONITOR began": "> SET a 1 \n < +OK \n > SET a 2 \n < +OK \n MONITOR \n > SET a 3 \n" +
			" < +OK \n = SET a 3|3",
		"though it is equal":             "> SET a 1 \n < +OK \n MONITOR \n > SET a 1 \n < +OK \n = SET a 1|2",
		"if it was not answered by then": "> SET a 1 \n MONITOR \n < +OK \n > SET a 1 \n < +OK \n = SET a 1|0 \n = SET a 1|2",
		"what was queued by then": "> MULTI \n < +OK \n > SET a 1 \n < +QUEUED \n MONITOR \n" +
			"> EXEC \n < *1 / +OK \n = SET a 1|3 \n = EXEC|3",
		"scripts that are refused, or whose commands are": "> EVALSHA x 0 \n < -READONLY You can't write \n > EVALSHA x 0 \n" +
			" < :1 \n = EVALSHA x 0|0",
		"though they are equal, what follows both is known": "> EVALSHA x 0 \n < -OOM c \n > EVALSHA x 0 \n < :1 \n > GET k \n" +
			" < $-1 \n = EVALSHA x 0|0 \n = GET k|3",
		"and the second, too": "> EVALSHA x 0 \n < -OOM c \n > EVALSHA x 0 \n < :1 \n" +
			" = EVALSHA x 0|0 \n = EVALSHA x 0|2",
		"scripts whose commands are refused, as Redis 7 says": "> EVALSHA x 0 \n < -OOM c script: x, on @user_script:1. \n" +
			" > EVALSHA x 0 \n < :1 \n = EVALSHA x 0|1",
		"scripts that only the server refuses": "> EVALSHA x 0 \n < -BUSY Redis is busy \n > EVALSHA x 0 \n < :1 \n = EVALSHA x 0|2",
		"what waited is refused as it goes on": "> BLPOP k 0 \n < -OOM c \n > BLPOP k 0 \n < *-1 \n = BLPOP k 0|0 \n = BLPOP k 0|2",
		"what is pushed answers nothing": "> SET k v \n" +
			" < >2 / +invalidate / *1 / +k \n" + noReplicas + "> SET k v \n < +OK \n = SET k v|2",
		"a long word, of which nothing is kept": "> SET k " + strings.Repeat("x", 70000) + " \n < +OK \n" +
			" = SET k " + strings.Repeat("x", 70000) + "|1",
		"answers that cannot be read, and none like it":         "> MONITOR \n > SET k v \n = SET k v|1",
		"answers that cannot be read: which of two":             "> MONITOR \n > SET k v \n > SET k v \n = SET k v|0",
		"answers that will not come: one before it has none":    "> SET a 1 \n > SET b 1 \n end \n = SET b 1|0",
		"answers that will not come: one before it is as it is": "> SET a 1 \n > SET b 1 \n end \n = SET a 1|1 \n = SET b 1|2",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				newNamed().play(t, steps)
				if took := time.Since(begin); took > 0 {
					t.Errorf("an answer was waited for %v", took)
				}
			})
		})
	}
}

// Queued commands leave with EXEC, and MONITOR shows them before it, if they run.
func TestTransactions(t *testing.T) {
	begin := "> MULTI \n < +OK \n > SET k v \n < +QUEUED \n > SET l v \n < +QUEUED \n"
	again := "> SET k v \n < +OK \n"
	for name, steps := range map[string]string{
		"it runs": begin + "> EXEC \n < *2 / +OK / +OK \n" + again + "= MULTI|1 \n = SET k v|4 \n = SET l v|4 \n" +
			" = EXEC|4 \n = SET k v|5",
		"its answer is late": begin + "> EXEC \n = MULTI|1 \n = SET k v|4 \n = SET l v|4 \n = EXEC|4",
		"in a pipeline":      "> MULTI \n > SET k v \n > EXEC \n < +OK \n < +QUEUED \n < *1 / +OK \n = MULTI|1 \n = SET k v|3 \n = EXEC|3",
		"equal commands in it": "> MULTI \n < +OK \n > INCR k \n < +QUEUED \n > INCR k \n < +QUEUED \n > EXEC \n < *2 / :1 / :2 \n" +
			" = INCR k|0 \n > GET a \n = EXEC|0 \n = GET a|5",
		"DISCARD":          begin + "> DISCARD \n < +OK \n" + again + "= MULTI|1 \n = DISCARD|4 \n = SET k v|5",
		"RESET":            begin + "> RESET \n < +RESET \n" + again + "= MULTI|1 \n = RESET|4 \n = SET k v|5",
		"no EXEC has come": begin + "= MULTI|1 \n = SET k v|0",
		"a watched key changed": "> WATCH k \n < +OK \n" + begin + "> EXEC \n < *-1 \n" + again +
			"= WATCH k|1 \n = MULTI|2 \n = EXEC|5 \n = SET k v|6",
		"as version 3 says it": begin + "> EXEC \n < _ \n" + again + "= MULTI|1 \n = EXEC|4 \n = SET k v|5",
		"one was refused": "> MULTI \n < +OK \n > SET k v \n < +QUEUED \n > SET l v \n" + noReplicas + "> EXEC \n" +
			" < -EXECABORT Transaction discarded because of previous errors. \n" +
			again + "= MULTI|1 \n = EXEC|4 \n = SET k v|5",
		"MULTI was refused": "> MULTI \n < -NOAUTH x \n > AUTH p \n < +OK \n > SET k v \n < +OK \n > EXEC \n" +
			" < -ERR EXEC without MULTI \n = SET k v|2 \n = EXEC|3",
		"some are not allowed": begin + "> EXEC \n < *2 / +OK / -NOPERM ACLs rules changed \n" + again + "= MULTI|1 \n = SET l v|4 \n" +
			" = EXEC|4 \n = SET k v|5",
		"after one is another": begin + "> DISCARD \n < +OK \n" + begin + "> EXEC \n < *2 / +OK / +OK \n = MULTI|1 \n = DISCARD|4 \n" +
			" = MULTI|5 \n = SET k v|8 \n = SET l v|8",
		"two in a pipeline": "> MULTI \n > SET k v \n > EXEC \n > MULTI \n > SET k v \n > EXEC \n < +OK \n < +QUEUED \n < *-1 \n" +
			" < +OK \n < +QUEUED \n < *1 / +OK \n = MULTI|1 \n = EXEC|3 \n = MULTI|4 \n = SET k v|6",
		"MULTI and WATCH in it fail at once": "> MULTI \n < +OK \n > SET k v \n < +QUEUED \n > WATCH k \n" +
			" < -ERR WATCH inside MULTI is not allowed \n" +
			"> MULTI \n < -ERR MULTI calls can not be nested \n > SET k v \n < +QUEUED \n > EXEC \n < *2 / +OK / +OK \n" +
			"= MULTI|1 \n = WATCH k|3 \n = MULTI|4 \n = SET k v|6 \n = SET k v|6 \n = EXEC|6",
		"as Valkey 9 says it": "> MULTI \n < +OK \n > MULTI \n < -ERR Command 'multi' not allowed inside a transaction \n > EXEC \n" +
			" < -EXECABORT x \n" +
			"> MULTI \n < +OK \n = MULTI|1 \n = EXEC|3 \n = MULTI|4",
		"a script is refused in it": "> MULTI \n < +OK \n > EVALSHA x 0 \n < -OOM c \n > EXEC \n < -EXECABORT x \n > EVALSHA x 0 \n < :1 \n" +
			"= MULTI|1 \n = EXEC|3 \n = EVALSHA x 0|4",
		"it ends before it began": begin + "end \n = MULTI|1 \n = SET k v|0",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				newNamed().play(t, steps)
				if took := time.Since(begin); took > 0 {
					t.Errorf("an answer was waited for %v", took)
				}
			})
		})
	}
}

// A line waits for the answers that tell whose it is, and not for others.
func TestAnswersAreAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		sent, line string
		answers    []string // one each 10 ms
		number     int
		took       time.Duration
	}{
		"was the first of two refused? It was": {"> SET k v \n > SET k v", "SET k v", []string{noReplicas}, 2, 10 * time.Millisecond},
		"it was not":                           {"> SET k v \n > SET k v", "SET k v", []string{"< +OK"}, 1, 10 * time.Millisecond},
		"of three the second was refused, too": {"> SET k v \n > SET k v \n" +
			" > SET k v", "SET k v", []string{noReplicas, noReplicas}, 3, 20 * time.Millisecond},
		"was one before it refused? It was":   {"> SET a 1 \n > SET k v", "SET k v", []string{noReplicas}, 2, 10 * time.Millisecond},
		"it was not, and ought to have shown": {"> SET a 1 \n > SET k v", "SET k v", []string{"< +OK"}, 0, 10 * time.Millisecond},
		"is it queued? It is": {"> MULTI \n < +OK \n = MULTI|1 \n > SET k v \n" +
			" > EXEC", "SET k v", []string{"< +QUEUED"}, 3, 10 * time.Millisecond},
		"was it discarded? It was": {"> MULTI \n < +OK \n > SET k v \n < +QUEUED \n > DISCARD \n" +
			" = MULTI|1", "DISCARD", []string{"< +OK"}, 3, 10 * time.Millisecond},
		"it waits itself, and is alone":           {"> BLPOP k 0", "BLPOP k 0", nil, 1, 0},
		"no answer comes":                         {"> SET k v \n > SET k v", "SET k v", nil, 0, answerWithin},
		"none comes, and the connection has none": {"> SET k v \n > SET k v", "SET k v", []string{"end"}, 0, 10 * time.Millisecond},
		"what comes cannot be read":               {"> SET k v \n > SET k v", "SET k v", []string{"< ?"}, 0, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNamed()
				n.play(t, c.sent)
				begin := time.Now()
				go func() {
					for _, answer := range c.answers {
						time.Sleep(10 * time.Millisecond)
						n.play(t, answer)
					}
				}()
				if got := n.line(c.line); got != c.number || time.Since(begin) != c.took {
					t.Errorf("command %d after %v, want %d after %v", got, time.Since(begin), c.number, c.took)
				}
				synctest.Wait()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNamed()
		begin := time.Now()
		n.play(t, strings.Repeat("> SET k v \n", 10)+strings.Repeat("= SET k v|0 \n", 9)+"= SET k v|10")
		if took := time.Since(begin); took != answerWithin {
			t.Errorf("ten lines waited %v for answers that do not come", took)
		}
		n.play(t, "> SET l v \n > SET l v \n"+strings.Repeat("< +OK \n", 12)+"= SET l v|11 \n = SET l v|12")
	})
}

// Whoever is woken by another's command got its answer: nothing in MONITOR says so.
func TestServed(t *testing.T) {
	n := newNamed()
	served := func(key, want string) {
		t.Helper()
		if got := n.reader.Served(n.link.To, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	n.play(t, "> GET k \n < $-1 \n = GET k|1 \n > BLPOP k 0 \n = BLPOP k 0|2")
	served("k", "") // it waits
	n.play(t, "< *2 / +k / +v")
	served("k", "c1")
	served("l", "")
	n.play(t, "> BLMOVE k l LEFT LEFT 1 \n < $-1 \n = BLMOVE k l LEFT LEFT 1|3")
	served("l", "") // in vain
	n.play(t, "> BRPOP k 0 \n < -UNBLOCKED force \n end \n = BRPOP k 0|4")
	served("k", "")
	if got := n.reader.Served("elsewhere", "k"); got != "" {
		t.Errorf("another node served %q", got)
	}
}

func TestWhatIsRemembered(t *testing.T) {
	n := newNamed()
	first := n.name
	n.play(t, "> SET a 1 \n < +OK \n = SET a 1|1 \n > SET b 1 \n"+noReplicas)
	if waiting := n.reader.waiting.Load(); waiting != 0 || len(n.sent) > 0 {
		t.Errorf("%d commands wait", waiting)
	}
	n.end()
	if n.reader.named(first) != nil {
		t.Error("a connection is remembered that has ended")
	}
	n.open(n.reader)
	second := n.name
	n.play(t, "> SET c 1 \n end")
	if n.reader.named(second) == nil || n.reader.waiting.Load() != 2 {
		t.Errorf("%d wait for the line of a connection that has ended", n.reader.waiting.Load())
	}
	n.line("SET c 1")
	if n.reader.named(second) != nil || n.reader.waiting.Load() != 0 || n.reader.ended.Len() > 0 {
		t.Errorf("%d wait when it has come", n.reader.waiting.Load())
	}
}

// Where too many commands wait, what ended first is forgotten first, and nothing is guessed of what is forgotten.
func TestTooMuchToRemember(t *testing.T) {
	n := newNamed()
	first := n.name
	n.play(t, "> SET a 1 \n < +OK \n end")
	n.open(n.reader)
	many := strings.Repeat(asSent("SET k v"), 1000)
	for range maxWaiting/1000 - 1 {
		n.feed(false, many)
	}
	n.feed(false, strings.Repeat(asSent("SET k v"), 998))
	if n.reader.named(first) == nil {
		t.Fatalf("%d wait, and the first is forgotten", n.reader.waiting.Load())
	}
	n.feed(false, asSent("SET l v"))
	if n.reader.named(first) != nil || n.forgot {
		t.Errorf("what ended is there: %v; the latest is forgotten: %v", n.reader.named(first) != nil, n.forgot)
	}
	n.feed(false, many)
	n.feed(true, strings.Repeat("+OK\r\n", maxWaiting+10))
	n.send("SET m v")
	n.feed(true, "+OK\r\n")
	if n.line("SET m v") != 0 || n.line("SET k v") != 0 || n.reader.waiting.Load() != 0 {
		t.Errorf("a line is known; %d wait", n.reader.waiting.Load())
	}
	n.open(n.reader)
	n.play(t, "> SET z 1 \n < +OK")
	if n.line("SET z 1") == 0 {
		t.Error("a new connection is not remembered")
	}
}

// The reader keeps of long commands what it needs to know them again.
func TestKeptWords(t *testing.T) {
	for _, words := range [][]string{{"SET", "k", "v"}, {"SET", "k", strings.Repeat("x", 70000), "NX"},
		slices.Repeat([]string{"word"}, 10000), {"SET", strings.Repeat("x", 40000), strings.Repeat("y", 40000), "z"}} {
		s := resp.Scanner{Commands: true}
		if _, whole, err := s.Next(resp.AppendCommand(nil, words...)); !whole || err != nil {
			t.Fatal(err)
		}
		if _, read := s.Message(); hash(read) != hash(words) || hash(read[1:]) == hash(words) {
			t.Errorf("%d words are not known again", len(words))
		}
	}
}
