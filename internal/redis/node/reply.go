package node

import (
	"math"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// reply is where an answer is written to, in the connection's version of the protocol.
type reply struct {
	b  []byte
	v3 bool
}

func (r *reply) ok()               { r.text("OK") }
func (r *reply) text(s string)     { r.b = resp.AppendLine(r.b, resp.Text, s) }
func (r *reply) fail(s string)     { r.b = resp.AppendLine(r.b, resp.Error, s) }
func (r *reply) bulk(s string)     { r.b = resp.AppendBulk(r.b, resp.Bulk, s) }
func (r *reply) integer(n int64)   { r.b = resp.AppendNumber(r.b, resp.Integer, n) }
func (r *reply) array(n int)       { r.b = resp.AppendNumber(r.b, resp.Array, int64(n)) }
func (r *reply) null()             { r.nothing(resp.Bulk) }
func (r *reply) nullArray()        { r.nothing(resp.Array) }
func (r *reply) count(n int)       { r.integer(int64(n)) }
func (r *reply) words(s ...string) { r.list(resp.Array, s) }

// mapping and push begin lists that are arrays in version 2.
func (r *reply) mapping(pairs int) {
	if r.v3 {
		r.b = resp.AppendNumber(r.b, resp.Map, int64(pairs))
		return
	}
	r.array(2 * pairs)
}

func (r *reply) push(n int) { r.newer(resp.Push, n) }

func (r *reply) newer(k resp.Kind, n int) {
	if !r.v3 {
		k = resp.Array
	}
	r.b = resp.AppendNumber(r.b, k, int64(n))
}

func (r *reply) nothing(k resp.Kind) {
	if r.v3 {
		r.b = resp.AppendLine(r.b, resp.Null, "")
		return
	}
	r.b = resp.AppendLine(r.b, k, "-1")
}

func (r *reply) bit(yes bool) {
	if yes {
		r.integer(1)
		return
	}
	r.integer(0)
}

func (r *reply) list(k resp.Kind, words []string) {
	r.newer(k, len(words))
	for _, w := range words {
		r.bulk(w)
	}
}

func (r *reply) double(f float64) {
	if r.v3 {
		r.b = resp.AppendLine(r.b, resp.Double, number(f))
		return
	}
	r.bulk(number(f))
}

// number writes a score as Redis 7.0 does.
func number(f float64) string {
	if math.IsInf(f, 1) {
		return "inf"
	}
	if math.IsInf(f, -1) {
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// Errors in Redis's words.
const (
	errSyntax  = "ERR syntax error"
	errNoKey   = "ERR no such key"
	errNotReal = "ERR value is not a valid float"
	errRange   = "ERR value is out of range"
)
