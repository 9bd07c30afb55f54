// Package link is one direction of a link as a pure state machine: which disturbances
// are in force there, and what becomes of the messages that come. It has no clock and
// does nothing by itself. Its drivers tell it the time and carry out what it says: the
// network and the replication of the virtual world, the valves of the live one.
//
// Four words stand for what carries messages, here and in the drivers:
//
//	link        what leads from one process to another (world.Link): from a client to a node, from a
//	            replica to its primary, between sentinels
//	connection  one TCP connection on a link. Its messages never overtake each other
//	direction   one of the two of a link, or of a connection: that of the requests, from the process that
//	            opens connections, or that of the answers
//	message     what a process sends at once over a connection, in one direction
//
// A flow is one direction of one connection. The drivers name their types after these words:
//
//	            virtual: client to   virtual: guest   virtual: between        proxy
//	            node                 to node          two other processes
//	link        clientLink           clientLink       peerLink                proxiedLink
//	connection  connection           GuestConn        peerConn                conn, where it is read
//	direction   Direction            guestDirection   Direction               valve
//	message     call                 call of a batch  peerMessage             message
//
// A call is a request, and then its answer. A guest is a lock library that runs as it is. A server that answers in bytes
// has one end of such a connection: a ServerConn.
//
// The disturbances stand one behind the other, in the order in which they began, and
// each message passes them in turn. One that begins while a message stands in another
// is still before that message. What stands in a disturbance that ends goes on to the
// next at once. Messages of one connection never overtake each other.
package link
