package sentinel

// Role is what an instance is, or says that it is.
type Role uint8

// Roles: SRI_MASTER, SRI_SLAVE and SRI_SENTINEL.
const (
	Primary Role = iota + 1
	Replica
	Peer
)

// Verb is what an action does.
type Verb uint8

// Verbs.
const (
	// Open opens a connection. A server's second one subscribes to the hello messages.
	Open Verb = iota + 1
	Close
	// Ping, AskInfo, Publish, AskDown and ReplicaOf send a command.
	Ping
	AskInfo
	Publish
	AskDown
	ReplicaOf
)

// Action is what a sentinel wants done.
type Action struct {
	Verb Verb
	// Conn is the number of the connection.
	Conn int
	// To is at the other end of a connection that is opened; PubSub: it is for hello messages.
	To     string
	PubSub bool
	Hello  Hello
	Ask    Ask
	// Primary is whom the server is to follow; empty: nobody. It rewrites its file then, and closes
	// all connections of clients and of subscribers but this one (sentinelSendSlaveOf).
	Primary string
}

// Hello is a hello message.
type Hello struct {
	From                      string
	CurrentEpoch, ConfigEpoch uint64
	Primary                   string
}

// Ask is SENTINEL is-master-down-by-addr. Candidate wants a vote; empty: nobody does.
type Ask struct {
	Primary, Candidate string
	Epoch              uint64
}

// Answer is what a server or a sentinel answers to an action.
type Answer struct {
	To   Verb
	Info Info
	Down Down
}

// Down is the answer to an Ask. Leader is the vote; empty: there is none.
type Down struct {
	Down   bool
	Leader string
	Epoch  uint64
}

// Info is what a server's INFO tells.
type Info struct {
	RunID string
	Role  Role
	// Replicas are those connected to it.
	Replicas []string
	// Primary is whom a replica follows; LinkUp: it is connected there.
	Primary string
	LinkUp  bool
	// LinkDownSince is how long it has not been, in seconds; -1: it never was.
	LinkDownSince int64
	Offset        int64
}
