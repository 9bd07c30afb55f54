// Package etcdlog reads the logs of the Jepsen test of etcd that porcupine keeps
// among its test data: lines such as
//
//	INFO  jepsen.util - 3	:invoke	:cas	[1 2]
package etcdlog
