package process

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// etcd carries to an etcd server what locks ask of a consensus store: to count,
// to set a key that is not there, and to delete it by its value. It speaks etcd's
// JSON gateway, https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/: every
// request is one transaction there.
type etcd struct {
	name, address string
	http          *http.Client
}

var _ store = (*etcd)(nil)

func (e *etcd) Name() string { return e.name }

// warm has nothing to do: etcd knows no scripts.
func (*etcd) warm([]*command.Script) {}

func (e *etcd) close() { e.http.CloseIdleConnections() }

func (e *etcd) Do(c command.Command) command.Reply {
	ctx, cancel := within(c.Timeout)
	defer cancel()
	switch {
	case c.Op == command.INCR:
		return e.count(ctx, c.Key)
	case c.Op == command.SET && c.NX:
		return e.setAbsent(ctx, c)
	case c.Op == command.EVAL && c.Script.Name == "release":
		return e.deleteOwn(ctx, c.Keys[0], c.Args[0])
	}
	return command.RefusedReply(fmt.Sprintf("etcd is not asked to %v here", c.Op))
}

// count answers the store's revision after a write to key. Revisions grow with
// every write, so they count as well as a counter, with gaps.
func (e *etcd) count(ctx context.Context, key string) command.Reply {
	var answer struct{ Header etcdHeader }
	if failed := e.ask(ctx, "kv/put", map[string]any{"key": b64(key)}, &answer); failed != nil {
		return *failed
	}
	n, err := strconv.ParseInt(answer.Header.Revision, 10, 64)
	if err != nil {
		return command.UnknownReply("etcd answered no revision: " + err.Error())
	}
	return command.IntReply(n)
}

type etcdHeader struct {
	Revision string `json:"revision"`
}

// setAbsent sets a key that is not there, under a lease. etcd's leases last whole
// seconds, and not less than its election timeout: longer than was asked for, never
// shorter. A key that is there is seen without a lease: who waits asks often, and to make a lease and to take it
// back are two more writes of etcd to its disk.
func (e *etcd) setAbsent(ctx context.Context, c command.Command) command.Reply {
	var has struct {
		Count int64 `json:"count,string"` // the gateway leaves out what is zero
	}
	if failed := e.ask(ctx, "kv/range", map[string]any{"key": b64(c.Key), "countOnly": true}, &has); failed != nil {
		return *failed
	}
	if has.Count != 0 {
		return command.NilReply()
	}
	var lease struct {
		ID string `json:"ID"`
	}
	seconds := (c.TTL + time.Second - 1) / time.Second
	if failed := e.ask(ctx, "lease/grant", map[string]any{"TTL": int64(seconds)}, &lease); failed != nil {
		return *failed
	}
	put := map[string]any{"requestPut": map[string]any{"key": b64(c.Key), "value": b64(c.Value), "lease": lease.ID}}
	set, failed := e.when(ctx, map[string]any{"key": b64(c.Key), "target": "CREATE", "createRevision": "0"}, put)
	if failed != nil {
		return *failed
	}
	if !set {
		_ = e.ask(ctx, "lease/revoke", map[string]any{"ID": lease.ID}, &struct{}{})
		return command.NilReply()
	}
	return command.StrReply("OK")
}

// deleteOwn deletes a key that has the value.
func (e *etcd) deleteOwn(ctx context.Context, key, value string) command.Reply {
	remove := map[string]any{"requestDeleteRange": map[string]any{"key": b64(key)}}
	deleted, failed := e.when(ctx, map[string]any{"key": b64(key), "target": "VALUE", "value": b64(value)}, remove)
	if failed != nil {
		return *failed
	}
	if deleted {
		return command.IntReply(1)
	}
	return command.IntReply(0)
}

// when does something if the comparison holds, in one transaction.
func (e *etcd) when(ctx context.Context, compare, do map[string]any) (done bool, failed *command.Reply) {
	compare["result"] = "EQUAL"
	var answer struct {
		Succeeded bool `json:"succeeded"`
	}
	failed = e.ask(ctx, "kv/txn", map[string]any{"compare": []any{compare}, "success": []any{do}}, &answer)
	return answer.Succeeded, failed
}

// ask posts a request; failed says why there is no answer.
func (e *etcd) ask(ctx context.Context, what string, request map[string]any, answer any) (failed *command.Reply) {
	body, err := json.Marshal(request)
	if err != nil {
		return refused(err.Error())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.address+"/v3/"+what, bytes.NewReader(body))
	if err != nil {
		return refused(err.Error())
	}
	reply, err := e.http.Do(r)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return refused(err.Error())
	}
	if err != nil {
		return unknown(err.Error())
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return unknown("etcd: " + reply.Status)
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(answer); err != nil {
		return unknown("etcd's answer cannot be read: " + err.Error())
	}
	return nil
}

func refused(why string) *command.Reply {
	r := command.RefusedReply(why)
	return &r
}

func unknown(why string) *command.Reply {
	r := command.UnknownReply(why)
	return &r
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
