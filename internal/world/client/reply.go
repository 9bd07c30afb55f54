package client

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// ReplyOf sorts what a server answered into what the caller may know. The answer is nil, an int64, a string, an error, or a
// list of these. A server that answers with an error did not carry the command out.
func ReplyOf(answer any) command.Reply {
	switch v := answer.(type) {
	case nil:
		return command.NilReply()
	case error:
		return command.RefusedReply(v.Error())
	case int64:
		return command.IntReply(v)
	case string:
		return command.StrReply(v)
	case []any:
		list := make([]string, len(v))
		for i, element := range v {
			list[i] = fmt.Sprint(element)
		}
		return command.ListReply(list...)
	}
	return command.UnknownReply(fmt.Sprintf("unexpected reply %T", answer))
}

// TransactionReplyOf is ReplyOf for the answer to a transaction, which has one for each of its commands.
func TransactionReplyOf(answer any) command.Reply {
	list, ok := answer.([]any)
	if !ok {
		return ReplyOf(answer)
	}
	body := make([]command.Reply, len(list))
	for i, one := range list {
		body[i] = ReplyOf(one)
	}
	return command.BodyReply(body)
}
