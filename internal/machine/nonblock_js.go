package machine

// nonBlocking: in a browser there is no file to open.
const nonBlocking = 0
